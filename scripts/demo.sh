#!/usr/bin/env bash
# The first minute: a recorded GPU, profiled and judged, with its page; then the same with a real kernel on this machine's CPU.
#
#   scripts/demo.sh            installs what is missing, builds, runs
#
# Needs Debian 12 and root (only to install packages). No GPU, no CUDA. What `wavetune demo` starts ends with it, also when it is interrupted.

. "$(dirname "$0")/lib/common.sh"

bin=build/release/bin
scripts/install_dependencies.sh build
started=${SECONDS}
# The recording needs the command line alone: there are figures while the rest is not yet built.
scripts/build.sh release wavetune
note "built the command line in $((SECONDS - started)) s"
"${bin}/wavetune" demo --out build/wavetune-demo.html
started=${SECONDS}
scripts/build.sh release wavetuned wavetune-agent
note "built daemon and agent in $((SECONDS - started)) s"
"${bin}/wavetune" demo --device cpu
