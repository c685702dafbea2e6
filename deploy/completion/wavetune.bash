# shellcheck shell=bash
# Completes commands, options and names of kernels: the program says what may follow, a word and its meaning a line.

_wavetune() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}

# Else names of files.
complete -o default -F _wavetune wavetune
