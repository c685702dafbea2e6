# Stages of a long script: each is announced, timed, and does not stop the ones after it.
#
#   . scripts/lib/stages.sh
#   run_stage format check_format   # a function or command
#   print_slowest_steps             # of all builds and tests that lie in build/
#   finish_stages                   # prints the stages' times, what failed and how; its status is the script's

failed_stages=()
stage_times=()
stage_logs="${repo_root}/build/stages"

format_seconds() { printf '%dm%02ds' "$(($1 / 60))" "$(($1 % 60))"; }

run_stage() {
  local name="$1" started="${SECONDS}" status=0 verdict=ok took
  shift
  printf '\n== %s\n' "${name}"
  mkdir -p "${stage_logs}"
  # In a subshell with errexit of its own: 'f || status=$?' would switch errexit off inside f.
  set +e
  (
    set -e
    "$@"
  ) 2>&1 | tee "${stage_logs}/${name}.log"
  status="${PIPESTATUS[0]}"
  set -e
  if [ "${status}" -ne 0 ]; then
    verdict=FAILED
    failed_stages+=("${name}")
  fi
  took="$(format_seconds "$((SECONDS - started))")"
  printf '== %s: %s (%s)\n' "${name}" "${verdict}" "${took}"
  stage_times+=("$(printf '%-12s %7s  %s' "${name}" "${took}" "${verdict}")")
}

# Of what Ninja and CTest wrote down: the slowest ten files, links and tests, in seconds.
print_slowest_steps() {
  local log
  {
    for log in build/*/.ninja_log; do
      if [ -e "${log}" ]; then
        awk -v dir="${log%/.ninja_log}" 'NR > 1 { printf "%7.1f  %s/%s\n", ($2 - $1) / 1000, dir, $4 }' "${log}"
      fi
    done
    for log in build/*/Testing/Temporary/CTestCostData.txt; do
      if [ -e "${log}" ]; then
        awk -v dir="${log%/Testing/*}" '/^---/ { exit } { printf "%7.1f  %s: test %s\n", $3, dir, $1 }' "${log}"
      fi
    done
  } | sort -rn -u | sed -n 1,10p  # Which reads all: sort must not meet a closed pipe.
}

finish_stages() {
  printf '\n'
  printf '   %s\n' "${stage_times[@]}"
  if [ "${#failed_stages[@]}" -gt 0 ]; then
    # Thousands of lines may lie between a failure and the end of the output.
    local name
    for name in "${failed_stages[@]}"; do
      printf '\n== %s failed; from %s:\n' "${name}" "build/stages/${name}.log"
      { grep -E -A 12 ': Failure$|: error:|ERROR: |runtime error:|WARNING: Thread|Timeout' "${stage_logs}/${name}.log" || true; } |
        head -n 60 | cut -c 1-240
      tail -n 20 "${stage_logs}/${name}.log" | cut -c 1-240
    done
    printf '== FAILED after %s: %s\n' "$(format_seconds "${SECONDS}")" "${failed_stages[*]}"
    return 1
  fi
  printf '== all stages passed in %s\n' "$(format_seconds "${SECONDS}")"
}
