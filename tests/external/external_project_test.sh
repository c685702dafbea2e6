#!/usr/bin/env bash
# Installs what developers need below a fresh prefix, builds tests/external/project against it, and runs what was built.
#
#   external_project_test.sh BUILD_DIR SOURCE_DIR CMAKE CC CXX
set -euo pipefail

build_dir="$1" source_dir="$2" cmake="$3" cc="$4" cxx="$5"
scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT

installed="${scratch}/installed"
"${cmake}" --install "${build_dir}" --prefix "${installed}" --component development > "${scratch}/install.log"
# Moved after installing: nothing may remember where it was installed to.
prefix="${scratch}/moved"
mv "${installed}" "${prefix}"
# Neither the checkout nor the build may be looked at.
if grep -rlF -e "${source_dir}/" --include='*.cmake' --include='*.pc' "${prefix}"; then
  echo "the files above name the checkout ${source_dir}" >&2
  exit 1
fi
cp -r "${source_dir}/tests/external/project" "${scratch}/project"
cd "${scratch}/project"

# No daemon, no cache: a table file.
cp "${source_dir}/tests/golden/data/tiny.table" "${scratch}/tiny.table"
export WAVETUNE_ENDPOINT="unix:${scratch}/no.sock" WAVETUNE_CACHE_DIR="${scratch}/cache" \
  WAVETUNE_TABLE_FILE="${scratch}/tiny.table"
expect() {
  local answer
  answer="$("$@")" || { echo "$* failed" >&2; exit 1; }
  echo "$1: ${answer}"
  [ "${answer}" = "BLOCK 256" ] || { echo "$1 did not answer BLOCK 256" >&2; exit 1; }
}

echo "== CMake: C and C++"
"${cmake}" -S . -B build -DCMAKE_PREFIX_PATH="${prefix}" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_C_COMPILER="${cc}" -DCMAKE_CXX_COMPILER="${cxx}" > "${scratch}/configure.log" ||
  { cat "${scratch}/configure.log"; exit 1; }
"${cmake}" --build build --parallel 2
expect build/c_consumer
expect build/cpp_consumer
expect build/mixed_consumer

echo "== CMake: C alone looks for no C++ package"
"${cmake}" -S c_only -B build_c -DCMAKE_PREFIX_PATH="${prefix}" -DCMAKE_C_COMPILER="${cc}" \
  --no-warn-unused-cli -DCMAKE_DISABLE_FIND_PACKAGE_gRPC=ON -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON > "${scratch}/configure.log" ||
  { cat "${scratch}/configure.log"; exit 1; }
"${cmake}" --build build_c
expect build_c/c_consumer

echo "== CMake: launching exported kernels"
configure_launch() {
  "${cmake}" -S launch -B build_launch -DCMAKE_PREFIX_PATH="${prefix}" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="${cxx}" > "${scratch}/configure.log" 2>&1
}
if [ -n "$(find "${prefix}" -name wavetuneLaunchTargets.cmake)" ]; then
  configure_launch || { cat "${scratch}/configure.log"; exit 1; }
  "${cmake}" --build build_launch
  expect build_launch/launch_consumer
else
  if configure_launch; then
    echo "the component launch was found, which is not there" >&2
    exit 1
  fi
  grep -q "built without the CUDA toolkit" <(tr -s ' \n' ' ' < "${scratch}/configure.log")
fi

echo "== pkg-config"
libdir="$(dirname "$(find "${prefix}" -name wavetune.pc)")"
export PKG_CONFIG_PATH="${libdir}"
pkg-config --exact-version="$(sed -n 's/^ *VERSION \([0-9.]*\)$/\1/p' "${source_dir}/CMakeLists.txt" | head -n 1)" wavetune
make --silent CC="${cc}"
LD_LIBRARY_PATH="$(pkg-config --variable=libdir wavetune)" expect ./c_consumer
