# Stages of a long script: each is announced, timed, and does not stop the ones after it.
#
#   . scripts/lib/stages.sh
#   run_stage format check_format   # a function or command
#   print_slowest_steps             # of all builds and tests that lie in build/
#   check_ceiling 80                # minutes of processor that all stages before may take, where nothing was built before
#   finish_stages                   # prints the stages' times, what failed and how; its status is the script's
#
# Their times are left in build/stages/times.json, and in a sentence in times.txt (docs/testing.md).

failed_stages=()
stage_times=()
stage_sentence=
stage_logs="${repo_root}/build/stages"
# Whether something was built before the first stage; and what the compiler cache answers from now on.
built_before="$(compgen -G "${repo_root}/build/*/.ninja_log" || true)"
mkdir -p "${stage_logs}"
export CCACHE_STATSLOG="${stage_logs}/ccache.log"
rm -f "${CCACHE_STATSLOG}"

format_seconds() { printf '%dm%02ds' "$(($1 / 60))" "$(($1 % 60))"; }
format_minutes() { printf '%d.%d' "$(($1 / 60))" "$(($1 % 60 / 6))"; }

# Processor time of all that this script started and that has ended: compilers and tests.
processor_seconds() {
  local stat
  read -r -a stat < "/proc/$$/stat"
  echo "$(((stat[15] + stat[16]) / $(getconf CLK_TCK)))"
}

run_stage() {
  local name="$1" started="${SECONDS}" used status=0 verdict=ok took
  shift
  used="$(processor_seconds)"
  printf '\n== %s\n' "${name}"
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
  took="$((SECONDS - started))"
  used="$(($(processor_seconds) - used))"
  printf '== %s: %s (%s)\n' "${name}" "${verdict}" "$(format_seconds "${took}")"
  stage_times+=("$(printf '%-12s %7s  %7s of processor  %s' "${name}" "$(format_seconds "${took}")" "$(format_seconds "${used}")" "${verdict}")")
  stage_sentence+="${stage_sentence:+; }${name} $(format_minutes "${took}"), $(format_minutes "${used}")"
}

# Whether the compiler cache answered at least one of twenty compilations.
used_compiler_cache() {
  [ -e "${CCACHE_STATSLOG}" ] || return 1
  awk '/^(direct|preprocessed)_cache_hit$/ { hits++ } /^#/ { all++ } END { exit !(all > 0 && 20 * hits >= all) }' "${CCACHE_STATSLOG}"
}

# Fails where the stages before took more than so many minutes of processor. Of a run that found something built or cached
# it is said only: how much it was spared nobody knows. Processor time, as it depends less on what else the machine does.
check_ceiling() {
  local limit="$1" used
  used="$(processor_seconds)"
  note "$(format_minutes "${used}") minutes of processor; ${limit} may be used from a clean clone without a compiler cache"
  [ "${used}" -gt "$((60 * limit))" ] || return 0
  if [ -n "${built_before}" ] || used_compiler_cache; then
    warn "that is more, though some of it was built or cached before"
    return 0
  fi
  printf 'error: see the stage "slowest", and docs/testing.md for what was taken out before; on a machine that is so slow or busy, run it with %s\n' \
    "WAVETUNE_CEILING_MINUTES=$((2 * limit))" >&2
  return 1
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
  printf '{"wall_minutes": %s, "processor_minutes": %s}\n' "$(format_minutes "${SECONDS}")" "$(format_minutes "$(processor_seconds)")" \
    > "${stage_logs}/times.json"
  printf 'Minutes on the clock, and of processor: %s.\n' "${stage_sentence}" > "${stage_logs}/times.txt"
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
