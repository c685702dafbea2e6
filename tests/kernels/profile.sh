#!/usr/bin/env bash
# Profiles kernels as authors write them on this machine's CPU and compares what is chosen with the exhaustive best, at problems that no manifest
# names (shapes.csv of each).
#
#   tests/kernels/profile.sh                         every kernel of this folder, once
#   ROUNDS=3 tests/kernels/profile.sh gelu conv2d    some, each profiled afresh three times
#   BIN=build/dev/bin tests/kernels/profile.sh       with other programs than those of the release build, which it makes
#
# Prints a line for each profile: the geometric mean and the worst of best / chosen, the same of a best that was picked in other rounds than it is
# judged in, and of default / chosen. OUT=FOLDER keeps what bench says of each problem. JUDGE_ROUNDS (9) are measured at each problem: the best of few
# is the luckiest, above all of launches of microseconds. Takes minutes a kernel on two idle cores; on busy ones its figures say little.

. "$(dirname "$0")/../../scripts/lib/common.sh"
. "$(dirname "$0")/../../scripts/lib/node.sh"
cd "${repo_root}"

bin_folder="${BIN:-${repo_root}/build/release/bin}"
[ -n "${BIN:-}" ] || scripts/build.sh release wavetuned wavetune-agent wavetune
[ "$#" -gt 0 ] || set -- rms_norm rms_norm_compiled gelu conv2d attention attention_counted grouped_gemm

# A folder of the chosen kernels alone: the daemon offers what it finds.
make_scratch
mkdir "${scratch}/kernels"
for kernel in "$@"; do
  [ -e "tests/kernels/${kernel}/manifest.textproto" ] || die "there is no kernel tests/kernels/${kernel}"
  cp -r "tests/kernels/${kernel}" "${scratch}/kernels/"
done
start_node "${bin_folder}" "${scratch}/kernels"
results="${OUT:-${scratch}}"
mkdir -p "${results}"

summary() {
  python3 - "$1" "$2" "$3" <<'PY'
import json, sys
kernel, number, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    s = json.load(file)["summary"]
if s["oracle_fraction_geomean"] == 0:
    print(f"{kernel:18} {number:>7} {s['shapes']:>8} {100 * s['default_fraction_geomean']:7.1f} %  no table was promoted: the default serves")
    sys.exit()
print(f"{kernel:18} {number:>7} {s['shapes']:>8} {100 * s['oracle_fraction_geomean']:7.1f} % {100 * s['oracle_fraction_min']:7.1f} %"
      f" {100 * s['held_out_fraction_geomean']:7.1f} % {100 * s['held_out_fraction_min']:7.1f} %"
      f" {s['speed_up_over_default_geomean']:11.3f} {s['speed_up_over_default_min']:7.2f}")
PY
}

printf '%-18s %7s %8s %9s %9s %9s %9s %11s %7s\n' kernel profile problems 'of best' worst 'held out' worst 'of default' worst
for round in $(seq 1 "${ROUNDS:-1}"); do
  for kernel in "$@"; do
    "${bin}/wavetune" reprofile --kernel "${kernel}" --reason "profile ${round}" --fresh --wait >&2 || true  # It fails where its table was refused.
    "${bin}/wavetune" bench "${kernel}" --shapes "tests/kernels/${kernel}/shapes.csv" --exhaustive --rounds "${JUDGE_ROUNDS:-9}" --json \
      > "${results}/${kernel}.${round}.json" || [ -s "${results}/${kernel}.${round}.json" ]  # It fails where the table was refused.
    summary "${kernel}" "${round}" "${results}/${kernel}.${round}.json"
  done
done
