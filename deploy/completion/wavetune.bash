# shellcheck shell=bash
# Completes commands and options of wavetune, by what the program says of itself.

# _wavetune_commands HELP: those that a help lists.
_wavetune_commands() { sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p' <<< "$1"; }

_wavetune() {
  local help word options program="${COMP_WORDS[0]}"
  local -a command=()
  help="$("${program}" --help 2> /dev/null)"
  # Words between are options, and what they are given.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    grep -qxF -e "${word}" <<< "$(_wavetune_commands "${help}")" || continue
    command+=("${word}")
    help="$("${program}" "${command[@]}" --help 2> /dev/null)"
  done
  options="$(sed -n 's/^  \(-[a-z],\)\{0,1\} *\(--[a-z][a-z-]*\).*/\2/p' <<< "${help}")"
  mapfile -t COMPREPLY < <(compgen -W "$(_wavetune_commands "${help}") ${options}" -- "${COMP_WORDS[COMP_CWORD]}")
}

# Else names of files.
complete -o default -F _wavetune wavetune
