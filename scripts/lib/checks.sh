# Checks of the source tree that need no test binary. Those that need compiler flags read them from build/dev, where each
# file is compiled by itself: it is configured, not built.

check_format() {
  need_command clang-format
  tracked_files '*.h' '*.cc' '*.c' '*.cpp' | xargs -r -n 50 -P "${jobs}" clang-format --dry-run -Werror
  need_command python3
  python3 -B scripts/prose.py
}

# Configures build/dev and generates what sources include.
prepare_dev() { scripts/build.sh dev wavetune_proto_code wavetune_proto_lite_code wavetune_etcd_code; }

# Those of the files on standard input that are compiled, in the dev build.
compiled_files() {
  local file
  while read -r file; do
    if grep -qF "\"file\": \"${repo_root}/${file}\"" build/dev/compile_commands.json; then echo "${file}"; fi
  done
}

# A source file that no target lists compiles nowhere and tests nothing. CUDA and Python parts are built only
# where their toolkits are, the external project by its own test.
check_sources_listed() {
  prepare_dev
  local unlisted
  unlisted="$(tracked_files '*.cc' |
    grep -v -E '^(client/python|launch|profiler_agent/cuda|tests/(gpu|external/project))/|^(profiler_agent/commands/export_command|tests/component/export)_test' |
    grep -vxF -f <(tracked_files '*.cc' | compiled_files) || true)"
  [ -z "${unlisted}" ] || {
    printf '%s: in no CMakeLists.txt\n' ${unlisted}
    return 1
  }
}

# clang-tidy over the files that match the pathspecs.
check_tidy() {
  need_command clang-tidy
  prepare_dev
  tracked_files "$@" | compiled_files | run_tidy
}

run_tidy() {
  xargs -r -n 1 -P "${jobs}" clang-tidy --quiet -p build/dev 2> >(grep -v -e 'warnings\? generated\.$' >&2)
}

git_here() { git -c safe.directory='*' "$@"; }

# Prints the commit that a change is compared with. WAVETUNE_BASE names it, for a CI that knows what was pushed. Else it is
# where the change left the default branch; on the tip of that branch itself, as in a fresh clone of it, the commit before
# (the first parent: a merge is one change). Prints nothing where git knows neither, as in a shallow clone or an archive.
change_base() {
  local branch base=
  if [ -n "${WAVETUNE_BASE:-}" ]; then
    git_here rev-parse --verify --quiet "${WAVETUNE_BASE}^{commit}" || die "WAVETUNE_BASE: no commit '${WAVETUNE_BASE}'"
    return
  fi
  for branch in origin/HEAD origin/main main; do
    if git_here rev-parse --verify --quiet "${branch}^{commit}" > /dev/null 2>&1; then
      base="$(git_here merge-base HEAD "${branch}" 2> /dev/null || true)"
      break
    fi
  done
  if [ -z "${base}" ] || [ "${base}" = "$(git_here rev-parse HEAD 2> /dev/null)" ]; then
    base="$(git_here rev-parse --verify --quiet 'HEAD~1^{commit}' 2> /dev/null || true)"
  fi
  echo "${base}"
}

# The files that match the pathspecs and differ from the commit, in the working tree, and are still there.
changed_files() {
  local base="$1"
  shift
  git_here diff --name-only --diff-filter=d "${base}" -- "$@"
}

# What a change touches: clang-tidy over changed sources, and over one source for each changed header, which it reads with it;
# and each source that includes a changed header compiles by itself (the other builds of CI compile many as one unit). More
# files than these bounds are for scripts/soak.sh, as is all else: of a change that large only what is in the core is linted.
check_change() {
  local base max_tidy=40 max_including=60
  local headers sources including
  need_command clang-tidy
  prepare_dev
  base="$(change_base)"
  if [ -z "${base}" ]; then
    note "no commit to compare with: all of the core"
    tracked_files '*.cc' | core_files | compiled_files | run_tidy
    return
  fi
  headers="$(changed_files "${base}" '*.h')"
  sources="$({ changed_files "${base}" '*.cc' && one_including "${headers}"; } | sort -u | compiled_files)"
  including="$(including_files "${headers}" | compiled_files | grep -vxF -e "${sources}" || true)"
  note "$(count_lines "${sources}") sources to lint for what changed since $(git_here rev-parse --short "${base}"), $(count_lines "${including}") more include a changed header"
  if [ "$(count_lines "${sources}")" -gt "${max_tidy}" ]; then
    note "more than ${max_tidy}: those of the core alone"
    sources="$(core_files <<< "${sources}")"
  fi
  echo -n "${sources:+${sources}$'\n'}" | run_tidy
  head -n "${max_including}" <<< "${including}" | compile_alone
}

count_lines() { grep -c . <<< "$1" || true; }

# Those of the files on standard input that are of the core, without its tests.
core_files() { grep -E '^(base|model|fit|usage)/' | grep -v '_test[.]cc$' || true; }

# Sources that include any of the headers (one a line).
including_files() {
  [ -z "$1" ] || grep -lF -f <(sed -E 's|^(client/include/)?(.*)|#include "\2"|' <<< "$1") $(tracked_files '*.cc') || true
}

# For each of the headers (one a line) a source that includes it: its own comes first.
one_including() {
  local header
  for header in $1; do
    if [ -e "${header%.h}.cc" ]; then
      echo "${header%.h}.cc"
    else
      including_files "${header}" | sed -n 1p
    fi
  done
}

# Compiles each source on standard input by itself, as the dev build does.
compile_alone() {
  local targets
  mapfile -t targets < <(sed -n "s|..*|${repo_root}/&^|p")  # Ninja's name for what is made of a file.
  if [ "${#targets[@]}" -gt 0 ]; then cmake --build build/dev -j "${jobs}" -- --quiet "${targets[@]}"; fi
}
