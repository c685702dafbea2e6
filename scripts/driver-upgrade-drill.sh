#!/usr/bin/env bash
# Upgrades the driver under a running node, and says how that went for those who are served.
#
#   scripts/driver-upgrade-drill.sh                                    this machine's CPU, kernel gemm_f32
#   scripts/driver-upgrade-drill.sh --backend cuda --kernel gemm_bf16  a GPU
#   scripts/driver-upgrade-drill.sh --bin build/ci/bin                 programs that are built already, with tests
#   KEEP=1 scripts/driver-upgrade-drill.sh                             keeps the scratch folder (store, logs, what was polled)
#
# The driver is pretended (wavetune-agent --inject): no driver is touched, and nothing else is pretended but for the third step, where
# launches of some configurations take three times as long. A daemon and an agent run on sockets in a scratch folder. Steps:
#
#   1  profile the kernel, under driver 1.0
#   2  driver 2.0, as fast as before: the drift probe decides
#   3  driver 3.0, which makes all with one value of a parameter three times as slow
#   4  roll back to the table of before, in one command
#   5  edit the kernel so that it is slower, and profile it: the build must be refused. --slower-edit names the sed expression for its
#      sources; gemm_f32 has one, of others the step is left out without it
#
# Meanwhile a client fetches the table every 10 ms and listens to promotions. Exits 0 where no fetch failed, each drift probe took 10 s at
# most, step 2 carried over with the next epoch, notices came within 1 s, the rollback served, and the build was refused.

. "$(dirname "$0")/lib/common.sh"
. "$(dirname "$0")/lib/node.sh"
cd "${repo_root}"

backend=opencl
kernel=gemm_f32
kernels=kernels
budget=120
binaries=
slower_edit=
while [ "$#" -gt 0 ]; do
  case "$1" in
    --backend) backend="$2" ;;
    --kernel) kernel="$2" ;;
    --kernels-dir) kernels="$2" ;;
    --budget) budget="$2" ;;
    --bin) binaries="$2" ;;
    # A sed expression for the kernel's sources.
    --slower-edit) slower_edit="$2" ;;
    *) die "unknown option $1: see the beginning of $0" ;;
  esac
  [ "$#" -ge 2 ] || die "$1 needs a value"
  shift 2
done

if [ -z "${slower_edit}" ] && [ "${kernel}" = gemm_f32 ]; then
  # Some more work in each step of the inner loop: two to three times as slow, whatever the tile.
  slower_edit='s|^    for (int p = 0; p < steps; ++p) { .*\\$|    for (int p = 0; p < steps; ++p) { volatile float waste = 0.0f; for (int w = 0; w < 1 + BLOCK_M * VECTORS / 4; ++w) waste += 1.0f; \\|'
fi
if [ -z "${binaries}" ]; then
  scripts/build.sh dev wavetuned wavetune-agent wavetune fetch_poller
  binaries="${repo_root}/build/dev/bin"
fi
command -v python3 > /dev/null || die "python3 is needed to read what the programs say"

make_scratch
cp -r "${kernels}" "${scratch}/kernels"
pretend() {
  printf '%s\n' "$@" > "${scratch}/inject.new"
  mv "${scratch}/inject.new" "${scratch}/inject"
}
pretend "driver = 1.0"
start_node "${binaries}" "${scratch}/kernels" --backends "${backend}" --inject "${scratch}/inject"

# ask FIELDS COMMAND...: runs `wavetune COMMAND... --json` and prints what the Python expression makes of `said`.
ask() {
  local expression="$1"
  shift
  "${bin}/wavetune" "$@" --json | python3 -c "import json, sys; said = json.load(sys.stdin); print(${expression})"
}
newest_job() { ask "max((job['id'] for job in said['jobs']), default=0)" jobs list; }
serving() { ask "max(said['tables'], key=lambda table: table['epoch']).get('$1')" tables list; }

# Waits until the job that the new driver brings about has ended; its id is in ${job}.
await_drift() {
  local before="$1"
  for _ in $(seq 1 2400); do
    job="$(newest_job)"
    if [ "${job}" -gt "${before}" ] && [ "$(ask "said['finished_at_us']" jobs show "${job}")" -gt 0 ]; then return; fi
    sleep 0.25
  done
  die "no job dealt with the new driver within ten minutes"
}

faults=0
check() {
  local what="$1"
  shift
  if "$@"; then note "ok: ${what}"; else note "FAULT: ${what}"; faults=$((faults + 1)); fi
}
at_most() { python3 -c "import sys; sys.exit(not float('$1') <= float('$2'))"; }

note "1: profiling ${kernel} under driver 1.0"
"${bin}/wavetune" reprofile --kernel "${kernel}" --budget "${budget}" --reason "driver upgrade drill" --wait || die "the profile was not promoted: there is nothing to upgrade"
first="$(serving digest)"
first_epoch="$(serving epoch)"
"${bin}/fetch_poller" "${WAVETUNE_ENDPOINT}" "${kernel}" > "${scratch}/polled" 2> "${scratch}/poller.log" &
poller_pid=$!

note "2: driver 2.0, as fast as before"
before="$(newest_job)"
pretend "driver = 2.0"
await_drift "${before}"
"${bin}/wavetune" jobs show "${job}"
action="$(ask "said['drift']['action']" jobs show "${job}")"
check "the drift probe took $(ask "round(said['drift']['seconds'], 2)" jobs show "${job}") s" \
  at_most "$(ask "said['drift']['seconds']" jobs show "${job}")" 10
check "the table is carried over: ${action}" test "${action}" = CARRY_OVER
check "the epoch is $(serving epoch), after ${first_epoch}" test "$(serving epoch)" -eq "$((first_epoch + 1))"
check "the table that serves is current" test "$(serving stale)" = False
good="$(serving digest)"

note "3: driver 3.0, under which some of what the table chooses takes three times as long"
choice="$(ask "' = '.join(map(str, list(said['sub_tables'][0]['portfolio'][0]['configuration'].items())[0]))" tables show "${good}")"
before="$(newest_job)"
pretend "driver = 3.0" "slower = 3 where ${choice}"
await_drift "${before}"
"${bin}/wavetune" jobs show "${job}"
action="$(ask "said['drift']['action']" jobs show "${job}")"
check "the drift probe took $(ask "round(said['drift']['seconds'], 2)" jobs show "${job}") s" \
  at_most "$(ask "said['drift']['seconds']" jobs show "${job}")" 10
check "it is not carried over: ${action}" test "${action}" != CARRY_OVER

note "4: rolling back"
if [ "$(serving digest)" != "${good}" ]; then
  "${bin}/wavetune" tables rollback "${kernel}" --to "${good}" --reason drill
fi
check "table ${good:0:8} serves again" test "$(serving digest)" = "${good}"

if [ -n "${slower_edit}" ]; then
  note "5: a slower build of the kernel, back under driver 2.0"
  pretend "driver = 2.0"
  for _ in $(seq 1 40); do
    [ "$(ask "said['devices'][0]['facts']['driver']" devices)" = 2.0 ] && break
    sleep 0.25
  done
  check "the device has driver 2.0 again" test "$(ask "said['devices'][0]['facts']['driver']" devices)" = 2.0
  # Carried to driver 3.0 in step 3, it is judged once more; a build is compared with what serves under the driver that is there.
  for _ in $(seq 1 1200); do
    [ "$(serving stale)" = False ] && break
    sleep 0.25
  done
  check "what serves is current" test "$(serving stale)" = False
  good="$(serving digest)"
  find "${scratch}/kernels/${kernel}" -type f ! -name 'manifest*' -exec sed -i -e "${slower_edit}" {} +
  "${bin}/wavetune" reprofile --kernel "${kernel}" --budget "${budget}" --reason "slower build" --wait || note "it fails, as its table is refused"
  check "the slower build is refused" test "$(serving digest)" = "${good}"
  "${bin}/wavetune" jobs show "$(newest_job)" | grep '^message'
fi

kill "${poller_pid}"
wait "${poller_pid}" || true
note "what the client saw"
cat "${scratch}/polled"
tail -n 1 "${scratch}/polled" > "${scratch}/summary"
of_summary() { python3 -c "import json; print(json.load(open('${scratch}/summary'))['$1'])"; }
longest="$(python3 -c "
import json
lines = [json.loads(line) for line in open('${scratch}/polled')]
print(max((line['notice_ms'] for line in lines if 'notice_ms' in line), default=float('inf')))")"
check "$(of_summary failed) of $(of_summary fetches) fetches failed" test "$(of_summary failed)" -eq 0
check "the latest notice of a promotion came after ${longest} ms" at_most "${longest}" 1000
note "what the daemon told of it"
"${bin}/wavetune" events

[ "${faults}" -eq 0 ] || die "${faults} faults"
note "the drill passed; table ${first:0:8} was profiled first, ${good:0:8} serves"
