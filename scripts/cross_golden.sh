#!/usr/bin/env bash
# Shows that fits and decisions have the same bits everywhere: builds the core and its golden tests with GCC and
# Clang, in Debug and Release, and for AArch64, and runs them all (AArch64 under qemu). GCC's release build is what is
# shipped (preset ci), whose tests scripts/test.sh runs anyway.
#
#   scripts/cross_golden.sh                      all of them
#   scripts/cross_golden.sh clang-release        some: gcc-debug gcc-release clang-debug clang-release aarch64
#   scripts/cross_golden.sh --all-tests aarch64  every test of the core, not only those in tests/golden
#
# Needs no root: the arm64 libraries are unpacked into build/sysroot-aarch64, not installed, so the packages of
# this machine stay as they are. (Installing them next to the host's would tie libc6:arm64 to the exact version of
# the host's libc6.)

. "$(dirname "$0")/lib/common.sh"

sysroot="${repo_root}/build/sysroot-aarch64"

# Many files as one unit, as in the release preset.
unity=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=32)

# Shared libraries and headers that the core and its tests link; libc and libstdc++ come with the cross compiler.
sysroot_packages=(libabsl-dev libabsl20220623 libssl-dev libssl3 libgtest-dev libgmock-dev)

# Fetches the arm64 packages with the machine's own apt sources, in a state folder of its own.
make_sysroot() {
  if [ -e "${sysroot}/complete" ]; then return; fi
  need_command apt-get dpkg
  note "unpacking arm64 libraries into build/sysroot-aarch64"
  local state="${repo_root}/build/apt-aarch64" log="${repo_root}/build/sysroot-aarch64.log"
  rm -rf "${sysroot}" "${state}"
  mkdir -p "${sysroot}" "${state}/lists/partial" "${state}/cache/archives/partial" "${state}/packages"
  local options=(-q
    -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o Dir::State="${state}" -o Dir::State::lists="${state}/lists" -o Dir::State::status=/dev/null
    -o Dir::Cache="${state}/cache" -o APT::Sandbox::User=)
  (
    cd "${state}/packages"
    apt-get "${options[@]}" update && apt-get "${options[@]}" download "${sysroot_packages[@]}"
  ) > "${log}" 2>&1 < /dev/null || {
    tail -n 20 "${log}" >&2
    die "cannot fetch the arm64 packages; do the apt sources restrict architectures ([arch=...])?"
  }
  local package
  for package in "${state}"/packages/*.deb; do dpkg -x "${package}" "${sysroot}"; done
  rm -rf "${state}"
  touch "${sysroot}/complete"
}

# run NAME [CMAKE ARGUMENT...]
run() {
  local name="$1" build_dir="build/golden-$1" log="build/golden-$1.log"
  shift
  note "${name}"
  mkdir -p build
  cmake -S . -B "${build_dir}" -G Ninja -DWAVETUNE_CORE_ONLY=ON -DWAVETUNE_BUILD_TESTS=ON \
    -DWAVETUNE_TEST_PER_CASE=OFF -DWAVETUNE_TEST_TIMEOUT=300 "$@" > "${log}" 2>&1 || {
    cat "${log}" >&2
    die "configuring ${name} failed"
  }
  build_and_test "${build_dir}"
}

build_and_test() {
  cmake --build "$1" -j "${jobs}" --target "${build_target}" -- --quiet
  ctest --test-dir "$1/${test_folder}" -j "${jobs}" --output-on-failure --no-label-summary --no-tests=error
}

run_one() {
  case "$1" in
    gcc-debug) run "$1" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug ;;
    gcc-release)
      note "$1"
      scripts/build.sh ci "${build_target}"
      build_and_test build/ci
      ;;
    clang-debug) run "$1" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug ;;
    clang-release) run "$1" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release "${unity[@]}" ;;
    aarch64)
      need_command aarch64-linux-gnu-g++ qemu-aarch64-static
      make_sysroot
      run "$1" -DCMAKE_TOOLCHAIN_FILE="${repo_root}/cmake/toolchains/aarch64-linux-gnu.cmake" \
        -DWAVETUNE_SYSROOT="${sysroot}" -DCMAKE_BUILD_TYPE=Release "${unity[@]}"
      ;;
    *) die "unknown build '$1'" ;;
  esac
}

build_target=golden_tests
test_folder=tests/golden
if [ "${1:-}" = --all-tests ]; then
  build_target=all
  test_folder=.
  shift
fi
[ "$#" -gt 0 ] || set -- gcc-debug gcc-release clang-debug clang-release aarch64

need_command cmake ninja g++ clang++
for build in "$@"; do run_one "${build}"; done
