#!/usr/bin/env bash
# Configures a preset and builds it.
#
#   scripts/build.sh dev                     all of it; programs and tests land in build/dev/bin
#   scripts/build.sh release wavetuned       one target
#   WAVETUNE_CMAKE_ARGS='-DWAVETUNE_CUDA=OFF' scripts/build.sh dev

. "$(dirname "$0")/lib/common.sh"

[ "$#" -ge 1 ] || die "usage: scripts/build.sh dev|release|ci|asan|tsan [target...]"
preset="$1"
shift
need_command cmake ninja

mkdir -p build
log="build/configure-${preset}.log"
# shellcheck disable=SC2086  # several arguments on purpose
if ! cmake --preset "${preset}" ${WAVETUNE_CMAKE_ARGS:-} > "${log}" 2>&1; then
  cat "${log}" >&2
  die "configuring '${preset}' failed"
fi

# What compiles says nothing; warnings and errors do.
if [ "$#" -gt 0 ]; then
  cmake --build --preset "${preset}" -j "${jobs}" -- --quiet "$@"
else
  cmake --build --preset "${preset}" -j "${jobs}" -- --quiet
fi
