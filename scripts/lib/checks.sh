# Checks of the source tree that need no test binary.

check_format() {
  need_command clang-format
  tracked_files '*.h' '*.cc' '*.c' '*.cpp' | xargs -r clang-format --dry-run -Werror
}

# A source file that no target lists compiles nowhere and tests nothing. CUDA and Python parts are built only
# where their toolkits are, the external project by its own test.
check_sources_listed() {
  local file missing=0
  for file in $(tracked_files '*.cc' | grep -v -E '^(client/python|launch|profiler_agent/cuda|tests/(gpu|external/project))/|^(profiler_agent/commands/export_command|tests/component/export)_test'); do
    if ! grep -qF "\"file\": \"${repo_root}/${file}\"" build/dev/compile_commands.json; then
      printf '%s: in no CMakeLists.txt\n' "${file}"
      missing=1
    fi
  done
  return "${missing}"
}

# clang-tidy over the files that match the pathspecs, with the flags of the dev build.
check_tidy() {
  need_command clang-tidy
  [ -e build/dev/compile_commands.json ] || die "no build/dev: run scripts/build.sh dev first"
  local file
  for file in $(tracked_files "$@"); do
    if grep -qF "\"file\": \"${repo_root}/${file}\"" build/dev/compile_commands.json; then
      echo "${file}"
    fi
  done | xargs -r -n 1 -P "${jobs}" clang-tidy --quiet -p build/dev \
    2> >(grep -v -e 'warnings\? generated\.$' >&2)
}
