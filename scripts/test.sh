#!/usr/bin/env bash
# Everything that must hold before a change is merged, from a clean clone, in at most 40 minutes on two cores.
#
#   scripts/test.sh               all stages
#   scripts/test.sh asan format   some: install dev sources format tidy asan tsan golden instructions slowest tests
#
# The tests of the dev build come last, so that CTest's summary closes the output. A stage that fails does not
# stop the others. What takes longer is in scripts/soak.sh.

. "$(dirname "$0")/lib/common.sh"
. "${repo_root}/scripts/lib/stages.sh"
. "${repo_root}/scripts/lib/checks.sh"

wanted=" $* "
stage() {
  if [ "${wanted}" = "  " ] || [[ "${wanted}" == *" $1 "* ]]; then run_stage "$@"; fi
}

build_and_test() {
  scripts/build.sh "$1"
  ctest --preset "$1" -j "${jobs}" --progress
}

# The pure core without its tests: the whole tree takes too long here (scripts/soak.sh does it).
tidy_core() { check_tidy 'base/*.cc' 'model/*.cc' 'fit/*.cc' 'usage/*.cc' ':!*_test.cc'; }

stage install scripts/install_dependencies.sh
stage dev scripts/build.sh dev
stage sources check_sources_listed
stage format check_format
stage tidy tidy_core
stage asan build_and_test asan
stage tsan build_and_test tsan
# The dev build stands in for GCC's debug build; both debug builds are in the soak.
stage golden scripts/cross_golden.sh gcc-release clang-release aarch64
stage instructions scripts/decision_instructions.sh
stage slowest print_slowest_steps
stage tests ctest --preset dev -j "${jobs}" --progress
finish_stages
