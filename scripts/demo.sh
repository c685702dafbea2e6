#!/usr/bin/env bash
# The main job on any machine: measure a real kernel on this machine's CPU, fit its wave models, decide, and compare with the best.
#
#   scripts/demo.sh            installs what is missing, builds, runs (about 10 minutes on two cores the first time)
#   KEEP=1 scripts/demo.sh     keeps the scratch directory (store, logs) and says where it is
#
# Needs Debian 12 and root (only to install packages). No GPU, no CUDA. Starts a daemon and an agent on sockets in a scratch directory and
# stops both at the end, also when interrupted.

. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/node.sh"
cd "${repo_root}"

kernel=gemm_f32
shapes="kernels/${kernel}/small_llm.csv"

scripts/install_dependencies.sh build
build_started=${SECONDS}
scripts/build.sh release wavetuned wavetune-agent wavetune
note "built in $((SECONDS - build_started)) s"

start_node "${repo_root}/build/release/bin" kernels

run_started=${SECONDS}
note "devices"
"${bin}/wavetune" devices
note "profiling ${kernel}: every configuration is compiled and checked, then measured sparsely"
"${bin}/wavetune" reprofile --kernel "${kernel}" --reason demo --wait
note "deciding for a small LLM"
tail -n +2 "${shapes}" | while IFS=, read -r layer m n k; do
  printf '%-16s ' "${layer}"
  "${bin}/wavetune" resolve "${kernel}" "m=${m}" "n=${n}" "k=${k}"
done
note "measuring every configuration at the same shapes, which profiling has never seen"
"${bin}/wavetune" bench "${kernel}" --shapes "${shapes}" --exhaustive
note "ran in $((SECONDS - run_started)) s"
