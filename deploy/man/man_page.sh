#!/bin/sh
# Prints the manual page of a program, made of what it says of itself: the help of each of its commands.
#
#   deploy/man/man_page.sh build/release/bin/wavetune 1 | man -l -
set -eu
program="$1"
section="$2"
name="$(basename "${program}")"
# Of a page on a narrow terminal, indented; and nobody says names of kernels, which are no commands.
export COLUMNS=72 WAVETUNE_ENDPOINT=unix:/dev/null

# Text as it stands, in roff.
verbatim() { sed -e 's/\\/\\e/g' -e "s/^\\([.']\\)/\\\\\\&\\1/" -e 's/-/\\-/g'; }

# inner_of WORDS...: the commands that a command holds: what the command line completes with, and of daemon and agent what ${text} lists.
inner_of() {
  if [ "${name}" = wavetune ]; then
    "${program}" __complete "$@" "" | cut -f 1
  else
    printf '%s\n' "${text}" | sed -n '/^Subcommands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'
  fi
}

# help_of WORDS...: the help of a command, then of those that it holds.
help_of() {
  text="$("${program}" "$@" --help | sed "s|^Usage: [^ ]*|Usage: ${name}|")"
  printf '.SS "%s"\n.nf\n' "${name}${*:+ $*}"
  printf '%s\n' "${text}" | verbatim
  printf '.fi\n'
  for inner in $(inner_of "$@"); do
    (help_of "$@" "${inner}")
  done
}

version="$("${program}" --version | sed 's/.* //')"
summary="$(COLUMNS=100 "${program}" --help | sed -n '1s/^[^:]*: //p')"
printf '.TH %s %s "" "%s %s" "WaveTune"\n' "$(printf '%s' "${name}" | tr '[:lower:]' '[:upper:]')" "${section}" "${name}" "${version}"
printf '.SH NAME\n%s \\- %s\n' "${name}" "$(printf '%s' "${summary}" | verbatim)"
printf '.SH SYNOPSIS\n.B %s\n[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR]\n.SH COMMANDS\n' "${name}"
help_of
printf '.SH SEE ALSO\n/usr/share/doc/wavetune/docs/runbook.md, /usr/share/doc/wavetune/docs/configuration.md\n'
