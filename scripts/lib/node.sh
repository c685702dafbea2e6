# A daemon and an agent in a scratch folder, for scripts that measure. Sourced after common.sh.
#
#   make_scratch                              sets ${scratch}; only where something belongs there before the programs start
#   start_node build/release/bin kernels      their programs' folder, and the folder of kernels; sets ${bin} and ${scratch}
#   start_node build/release/bin kernels --backends cuda      with options for the agent
#
# Both end, and the folder goes, when the script does, also when it is interrupted; KEEP=1 keeps the folder and says where it is.

scratch=
bin=
daemon_pid=
agent_pid=

stop_node() {
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

make_scratch() {
  scratch="$(mktemp -d)"
  trap stop_node EXIT
  trap 'exit 130' INT TERM
}

start_node() {
  bin="$1"
  local kernels="$2"
  shift 2
  [ -n "${scratch}" ] || make_scratch
  export WAVETUNE_ENDPOINT="unix:${scratch}/reader.sock"
  export WAVETUNE_CACHE_DIR="${scratch}/client-cache"
  "${bin}/wavetuned" --store "${scratch}/store" --socket-dir "${scratch}" --kernels-dir "${kernels}" 2> "${scratch}/wavetuned.log" &
  daemon_pid=$!
  "${bin}/wavetune-agent" --endpoint "unix:${scratch}/agent.sock" --cache-dir "${scratch}/programs" "$@" 2> "${scratch}/agent.log" &
  agent_pid=$!
  # The device appears as soon as the agent has attached.
  local attempt
  for attempt in $(seq 1 100); do
    # Not grep -q: it would leave before many devices are printed, and the pipe would fail.
    if "${bin}/wavetune" devices --json 2> /dev/null | grep '"attached": *true' > /dev/null; then return; fi
    kill -0 "${daemon_pid}" 2> /dev/null || die "wavetuned ended at once"
    kill -0 "${agent_pid}" 2> /dev/null || die "wavetune-agent ended at once"
    [ "${attempt}" -lt 100 ] || die "no device attached within 20 s"
    sleep 0.2
  done
}
