#!/usr/bin/env bash
# The main job on any machine: measure a real kernel on this machine's CPU, fit its wave models, decide, and compare with the best.
#
#   scripts/demo.sh            installs what is missing, builds, runs (about 10 minutes on two cores the first time)
#   KEEP=1 scripts/demo.sh     keeps the scratch directory (store, logs) and says where it is
#
# Needs Debian 12 and root (only to install packages). No GPU, no CUDA. Starts a daemon and an agent on sockets in a scratch directory and
# stops both at the end, also when interrupted.

. "$(dirname "$0")/lib/common.sh"
cd "${repo_root}"

kernel=gemm_f32
shapes="kernels/${kernel}/small_llm.csv"

scripts/install_dependencies.sh build
build_started=${SECONDS}
scripts/build.sh release wavetuned wavetune-agent wavetune
note "built in $((SECONDS - build_started)) s"

bin="${repo_root}/build/release/bin"
scratch="$(mktemp -d)"
daemon_pid=
agent_pid=
stop_all() {
  status=$?
  for pid in ${agent_pid} ${daemon_pid}; do
    kill "${pid}" 2> /dev/null || true
    wait "${pid}" 2> /dev/null || true
  done
  if [ "${status}" -ne 0 ]; then
    for log in "${scratch}"/*.log; do
      [ -s "${log}" ] && { note "the end of ${log##*/}:"; tail -n 15 "${log}" >&2; }
    done
  fi
  if [ -n "${KEEP:-}" ]; then note "kept ${scratch}"; else rm -rf "${scratch}"; fi
  exit "${status}"
}
trap stop_all EXIT
trap 'exit 130' INT TERM

export WAVETUNE_ENDPOINT="unix:${scratch}/reader.sock"
export WAVETUNE_CACHE_DIR="${scratch}/client-cache"
"${bin}/wavetuned" --store "${scratch}/store" --socket-dir "${scratch}" --kernels-dir kernels 2> "${scratch}/wavetuned.log" &
daemon_pid=$!
"${bin}/wavetune-agent" --endpoint "unix:${scratch}/agent.sock" --cache-dir "${scratch}/programs" 2> "${scratch}/agent.log" &
agent_pid=$!

# The device appears as soon as the agent has attached.
for attempt in $(seq 1 100); do
  if "${bin}/wavetune" devices --json 2> /dev/null | grep -q '"attached": *true'; then break; fi
  kill -0 "${daemon_pid}" 2> /dev/null || die "wavetuned ended at once"
  kill -0 "${agent_pid}" 2> /dev/null || die "wavetune-agent ended at once"
  [ "${attempt}" -lt 100 ] || die "no device attached within 20 s"
  sleep 0.2
done

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
