#!/usr/bin/env bash
# The inner loop: builds the tests of one folder, with what they need, and runs them.
#
#   scripts/dev.sh fit                                      every test in fit/
#   scripts/dev.sh server/jobs                              those of one of its folders
#   scripts/dev.sh model/table --gtest_filter='*Codec*'     what follows is for each test program
#   scripts/dev.sh                                          says which folders have tests

. "$(dirname "$0")/lib/common.sh"

programs=build/dev/test_programs.txt

[ -e "${programs}" ] || scripts/build.sh dev help > /dev/null
if [ "$#" -eq 0 ]; then
  awk '{ for (i = 2; i <= NF; i++) print $i }' "${programs}" | sort -u
  exit 0
fi
folder="${1%/}"
shift

mapfile -t wanted < <(awk -v folder="${folder}" '{
  for (i = 2; i <= NF; i++) if ($i == folder || index($i, folder "/") == 1) { print $1; next }
}' "${programs}")
[ "${#wanted[@]}" -gt 0 ] || die "no tests in ${folder}/: scripts/dev.sh alone names the folders that have some"

scripts/build.sh dev "${wanted[@]}"
failed=()
for program in "${wanted[@]}"; do
  note "${program}"
  "build/dev/bin/${program}" --gtest_brief=1 "$@" || failed+=("${program}")
done
[ "${#failed[@]}" -eq 0 ] || die "failed: ${failed[*]}"
