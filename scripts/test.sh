#!/usr/bin/env bash
# Everything that must hold before a change is merged, from a clean clone, in about fifty minutes on two cores.
#
#   scripts/test.sh               all stages
#   scripts/test.sh asan format   some: install sources format change build docs asan tsan golden instructions slowest
#                                 ceiling tests
#
# `build` and `tests` are the release build, as it is shipped (preset ci), with the tests that show something of it; it is also
# the golden tests' GCC build, and what instructions are counted of. The other tests are in `asan`. `change` looks at what changed alone. The tests come last, so that CTest's summary closes the
# output. A stage that fails does not stop the others. What takes longer is in scripts/soak.sh;
# docs/testing.md says what shows what.

. "$(dirname "$0")/lib/common.sh"
. "${repo_root}/scripts/lib/stages.sh"
. "${repo_root}/scripts/lib/checks.sh"

wanted=" $* "
stage() {
  if [ "${wanted}" = "  " ] || [[ "${wanted}" == *" $1 "* ]]; then run_stage "$@"; fi
}

build_and_test() {
  scripts/build.sh "$1"
  run_tests "$1"
}

# Fuzz targets for ten seconds each: under the sanitizers they find what tests cannot.
build_and_test_asan() { WAVETUNE_FUZZ_SECONDS="${WAVETUNE_FUZZ_SECONDS:-10}" build_and_test asan; }

stage install scripts/install_dependencies.sh
stage sources check_sources_listed
stage format check_format
stage change check_change
stage build scripts/build.sh ci
stage docs scripts/site/build.py --build ci
stage asan build_and_test_asan
stage tsan build_and_test tsan
# GCC's release build runs them in `tests`, Clang's in `asan`; the others are in the soak.
stage golden scripts/cross_golden.sh aarch64
stage instructions scripts/decision_instructions.sh
stage slowest print_slowest_steps
# The tests' summary is to be the last, so it counts what came before: 85 minutes of two cores, of the 90 that a CI gives.
stage ceiling check_ceiling "${WAVETUNE_CEILING_MINUTES:-170}"
stage tests run_tests ci
finish_stages
