#compdef wavetune
# Completes commands, options and names of kernels: the program says what may follow, a word and its meaning a line.

_wavetune() {
  local -a lines
  lines=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ -n "${lines[1]}" ]]; then
    # As _describe takes them: word:meaning.
    lines=("${(@)${(@)lines//:/\\:}/$'\t'/:}")
    _describe wavetune lines
  else
    _files
  fi
}

# Loaded by zsh itself, or sourced.
if [[ "${funcstack[1]}" == _wavetune ]]; then
  _wavetune "$@"
else
  compdef _wavetune wavetune
fi
