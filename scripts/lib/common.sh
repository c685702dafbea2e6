# Shared by the scripts: source it as the first thing.
#
#   . "$(dirname "$0")/lib/common.sh"
#
# Sets repo_root and jobs, and changes into the root of the checkout. jobs is how many compilers run at once; tests, which
# wait for each other's processes half of the time, run twice as many (run_tests).

set -euo pipefail

repo_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
jobs="${WAVETUNE_JOBS:-$(nproc)}"
cd "${repo_root}"

note() { printf '== %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# run_tests PRESET [CTEST ARGUMENT...]
run_tests() { ctest --preset "$1" -j "$((2 * jobs))" --progress "${@:2}"; }

need_command() {
  local name
  for name in "$@"; do
    command -v "${name}" > /dev/null || die "${name} not found: run scripts/install_dependencies.sh"
  done
}

# Tracked files that match the given git pathspecs, one per line. Also for a checkout that another user owns, and
# for an unpacked archive without .git.
tracked_files() {
  if [ -e .git ]; then
    git -c safe.directory='*' ls-files --cached -- "$@" | while read -r file; do
      if [ -e "${file}" ]; then echo "${file}"; fi
    done
  else
    local pattern
    for pattern in "$@"; do
      find . -path ./build -prune -o -type f -path "./${pattern}" -print | sed 's|^\./||'
    done
  fi
}
