# Stages of a long script: each is announced, timed, and does not stop the ones after it.
#
#   . scripts/lib/stages.sh
#   run_stage format check_format   # a function or command
#   finish_stages                   # prints what failed; its status is the script's

failed_stages=()

format_seconds() { printf '%dm%02ds' "$(($1 / 60))" "$(($1 % 60))"; }

run_stage() {
  local name="$1" started="${SECONDS}" status=0
  shift
  printf '\n== %s\n' "${name}"
  # In a subshell with errexit of its own: 'f || status=$?' would switch errexit off inside f.
  set +e
  (
    set -e
    "$@"
  )
  status=$?
  set -e
  if [ "${status}" -eq 0 ]; then
    printf '== %s: ok (%s)\n' "${name}" "$(format_seconds "$((SECONDS - started))")"
  else
    printf '== %s: FAILED (%s)\n' "${name}" "$(format_seconds "$((SECONDS - started))")"
    failed_stages+=("${name}")
  fi
}

finish_stages() {
  if [ "${#failed_stages[@]}" -gt 0 ]; then
    printf '== FAILED after %s: %s\n' "$(format_seconds "${SECONDS}")" "${failed_stages[*]}"
    return 1
  fi
  printf '== all stages passed in %s\n' "$(format_seconds "${SECONDS}")"
}
