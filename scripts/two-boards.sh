#!/usr/bin/env bash
# Whether a node's devices share a profile: its wall time on one device and on all, how good the tables are, and what becomes of a
# profile while one of the devices is busy, then hot.
#
#   scripts/two-boards.sh build/ci/bin --backends cuda
#   KERNELS=tests/data/h200 SHAPES=judged.csv JUDGED=--replay-judged scripts/two-boards.sh build/dev/bin \
#     --backends replay --replay-trace tests/data/h200/gemm_bf16 --replay-devices 2 --replay-pace 4
#
# Quality is speed_up_over_default_geomean of `wavetune bench`, or with EXHAUSTIVE oracle_fraction_geomean.
# First the folder with wavetuned, wavetune-agent and wavetune of a build with tests (--inject), then options for the agent. Other things from the environment:
#
#   KERNEL=gemm_bf16    what is profiled              KERNELS=kernels     the folder of kernels
#   BUDGET=60           device seconds a profile      SHAPES=             shapes to judge tables at; empty: they are not
#   CASES="one all busy hot"                          JUDGED=             options for the agent while it judges
#   PROFILE=            options for wavetune reprofile INJECT_AFTER=10     seconds until something is injected
#   EXHAUSTIVE=         1: judges against the best of all candidates (long), else against the default configuration
#   KEEP=1              keeps stores and logs, and says where
#
# Needs two devices of one class that nobody uses, and no network. What is busy or hot is injected (docs/testing.md) into the
# second device, ten seconds after the profile began. Each case has a store and a program cache of its own, so that all compile.

. "$(dirname "$0")/lib/common.sh"

[ $# -ge 1 ] || die "name the folder with the programs, as in the head of this script"
programs="$(cd "$1" && pwd)"
shift
kernel="${KERNEL:-gemm_bf16}"
kernels="${KERNELS:-kernels}"
budget="${BUDGET:-60}"
shapes="${SHAPES:-}"
judged="${JUDGED:-}"
# Against the default by a few minutes' fewer measurements; both are geometric means over the shapes.
exhaustive="${EXHAUSTIVE:+--exhaustive}"
quality="${EXHAUSTIVE:+oracle_fraction_geomean}"
quality="${quality:-speed_up_over_default_geomean}"
profile="${PROFILE:-}"
cases="${CASES:-one all busy hot}"
results="$(mktemp -d)"
trap 'rm -rf "${results}"' EXIT

# Of attached devices, as the table has them.
device_uuids() { "${bin}/wavetune" devices | awk '/ attached/ { print $1 }'; }

# The values of a field of JSON that is printed a field a line, the first of them.
field() { sed -n "/^ *\"$1\": /{s/^[^:]*: \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p;q}"; }

seconds_since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'; }

# Pretends things of the second device from some seconds on: arguments are lines of the injected file.
inject_later() {
  sleep "${INJECT_AFTER:-10}"
  printf '%s\n' "[$(device_uuids | sed -n 2p)]" "$@" > "${scratch}/inject.new"
  mv "${scratch}/inject.new" "${scratch}/inject"
}

# Prints what a table is worth at the shapes.
judge() {
  kill "${agent_pid}"
  wait "${agent_pid}" || true
  : > "${scratch}/inject"
  "${bin}/wavetune-agent" --endpoint "unix:${scratch}/agent.sock" --cache-dir "${scratch}/programs" --inject "${scratch}/inject" \
    "$@" ${judged} 2>> "${scratch}/agent.log" &
  agent_pid=$!
  local attempt
  for attempt in $(seq 1 100); do
    [ -z "$(device_uuids)" ] || break
    sleep 0.2
  done
  "${bin}/wavetune" bench "${kernel}" --shapes "${shapes}" ${exhaustive} --device "$(device_uuids | sed -n 1p)" --json
}

# Runs in a subshell, which ends its daemon and agent.
run_case() {
  local name="$1" device=() injector=
  shift
  . "${repo_root}/scripts/lib/node.sh"
  make_scratch
  : > "${scratch}/inject"
  start_node "${programs}" "${kernels}" --inject "${scratch}/inject" "$@"
  sleep 1
  [ "$(device_uuids | wc -l)" -ge 2 ] || die "two attached devices are needed; there are: $(device_uuids | tr '\n' ' ')"
  [ "${name}" != one ] || device=(--device "$(device_uuids | sed -n 1p)")
  case "${name}" in
    busy) inject_later "other_processes = 2" "utilisation_percent = 95" & injector=$! ;;
    hot) inject_later "throttle_reasons = 0x40" & injector=$! ;;
  esac
  local began
  began="$(date +%s.%N)"
  "${bin}/wavetune" reprofile --kernel "${kernel}" --budget "${budget}" "${device[@]}" ${profile} --reason "two-boards ${name}" --wait --json \
    > "${scratch}/job.json" || true
  seconds_since "${began}" > "${results}/${name}.wall"
  [ -z "${injector}" ] || wait "${injector}"
  "${bin}/wavetune" jobs show "$(field id < "${scratch}/job.json")"
  "${bin}/wavetune" events | grep -E 'left out|profiled again' || true
  "${bin}/wavetune" devices
  [ "$(field state < "${scratch}/job.json")" = SUCCEEDED ] || die "the profile did not succeed"
  field device_time_us < "${scratch}/job.json" | awk '{ printf "%.1f", $1 * 1e-6 }' > "${results}/${name}.device"
  [ -z "${shapes}" ] || judge "$@" > "${scratch}/bench.json"
  [ -z "${shapes}" ] || field "${quality}" < "${scratch}/bench.json" > "${results}/${name}.quality"
}

for name in ${cases}; do
  note "profile of ${kernel}: ${name}"
  (run_case "${name}" "$@")
done

value() { cat "${results}/$1" 2> /dev/null || echo "-"; }
printf '%-6s %10s %12s %12s %10s\n' case "wall (s)" "device (s)" "wall / one" quality
for name in ${cases}; do
  printf '%-6s %10s %12s %12s %10s\n' "${name}" "$(value "${name}.wall")" "$(value "${name}.device")" \
    "$(awk -v a="$(value "${name}.wall")" -v b="$(value one.wall)" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }')" \
    "$(value "${name}.quality")"
done
