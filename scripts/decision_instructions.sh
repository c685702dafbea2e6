#!/usr/bin/env bash
# Bounds what a decision costs where time cannot be judged: instructions, counted by callgrind on the release build
# with tests (preset ci).
#
#   scripts/decision_instructions.sh            compares with tests/golden/data/decision_instructions.csv
#   scripts/decision_instructions.sh --update   writes that file
#
# The counts are those of one compiler: elsewhere, or without valgrind, it says so and ends well. Valgrind knows no
# AVX-512, so that path is not counted. A count may exceed the committed one by 5 %.

. "$(dirname "$0")/lib/common.sh"

golden=tests/golden/data/decision_instructions.csv
decisions=2000

skip() {
  note "skipped: $*"
  exit 0
}

command -v valgrind > /dev/null || skip "no valgrind (scripts/install_dependencies.sh installs it)"
compiler="$(g++ -dumpfullversion)"
case "$(. /etc/os-release && echo "${ID:-} ${VERSION_ID:-}") $(uname -m) ${compiler}" in
  "debian 12"*" x86_64 12."*) ;;
  *) skip "the counts are those of GCC 12 on Debian 12, x86-64; this is GCC ${compiler}" ;;
esac

scripts/build.sh ci decision_instructions
program=build/ci/bin/decision_instructions

# count PATH CASE: instructions per decision. Resolve alone is counted, with all that it calls.
count() {
  local total
  total="$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    --toggle-collect='wavetune::CompiledTable::Resolve(*' "${program}" "$1" "$2" "${decisions}" 2>&1 |
    sed -n 's/^==[0-9]*== Collected : //p')"
  [ -n "${total}" ] || die "callgrind counted nothing for $1 $2"
  echo "$(((total + decisions / 2) / decisions))"
}

cases="$(valgrind -q --tool=none "${program}")"
[ -n "${cases}" ] || die "${program} names no cases"
measured="path,case,instructions"
while read -r path name; do
  measured+=$'\n'"${path},${name},$(count "${path}" "${name}")"
done <<< "${cases}"

if [ "${1:-}" = --update ]; then
  printf '%s\n' "${measured}" > "${golden}"
  note "wrote ${golden}"
  exit 0
fi

failed=0
while IFS=, read -r path name instructions; do
  committed="$(sed -n "s/^${path},${name},//p" "${golden}")"
  verdict=ok
  if [ "${instructions}" = instructions ]; then continue; fi
  if [ -z "${committed}" ]; then
    verdict="not in ${golden}"
    failed=1
  elif [ "$((instructions * 100))" -gt "$((committed * 105))" ]; then
    verdict="MORE than 5 % above the committed count"
    failed=1
  elif [ "$((instructions * 100))" -lt "$((committed * 90))" ]; then
    verdict="ok, 10 % below: run with --update to keep it so"
  fi
  printf '%-8s %-24s %6d instructions, %6s committed: %s\n' "${path}" "${name}" "${instructions}" "${committed:-no}" "${verdict}"
done <<< "${measured}"
[ "${failed}" -eq 0 ] || die "decisions take more instructions; if that must be, run scripts/decision_instructions.sh --update"
