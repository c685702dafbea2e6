#!/usr/bin/env bash
# Installs the Debian 12 packages that WaveTune is built and tested with; only those that are missing.
#
#   scripts/install_dependencies.sh             what it takes to build, run and test
#   scripts/install_dependencies.sh build       what it takes to build and run
#   scripts/install_dependencies.sh soak        what scripts/soak.sh needs beside those
#
# Needs root only when something is missing. No sudo, lsb_release or python is needed to run it.

. "$(dirname "$0")/lib/common.sh"

build_packages=(
  g++ make cmake ninja-build pkg-config ccache lld
  libabsl-dev libssl-dev zlib1g-dev
  protobuf-compiler libprotobuf-dev protobuf-compiler-grpc libgrpc++-dev
  librocksdb-dev
  prometheus-cpp-dev
  libnghttp2-dev  # header blocks of the daemon's peers
  libcli11-dev nlohmann-json3-dev
  ocl-icd-opencl-dev opencl-clhpp-headers pocl-opencl-icd  # PoCL: OpenCL on the CPU
  libjs-chart.js  # in the pages of `wavetune report`
  python3 python3-dev python3-venv  # wheels, and the Python package in environments of their own, from PyPI
  file dpkg-dev  # packages: cpack
)
test_packages=(
  libgtest-dev libgmock-dev libbenchmark-dev
  clang clang-format clang-tidy
  libclang-rt-14-dev llvm  # AddressSanitizer's runtime, and names in its reports
  prometheus  # promtool, and a server that scrapes a daemon: tests/deploy/prometheus_test.sh
  etcd-server etcd-client  # the registry of fleets
  iproute2  # hosts of a network that falls apart: tests/lib/network_hosts.h
  valgrind  # instructions of a decision: scripts/decision_instructions.sh
  doxygen  # pages of the headers: scripts/site/build.py
  g++-aarch64-linux-gnu qemu-user-static  # the core on AArch64: scripts/cross_golden.sh
)
# The scenarios of tests/hostile, and a bare root for packages: scripts/soak.sh.
soak_packages=(python3-grpcio python3-protobuf util-linux btrfs-progs e2fsprogs quota mmdebstrap systemd)

packages=()
[ "$#" -gt 0 ] || set -- build test
for group in "$@"; do
  case "${group}" in
    build) packages+=("${build_packages[@]}") ;;
    test) packages+=("${test_packages[@]}") ;;
    soak) packages+=("${soak_packages[@]}") ;;
    *) die "unknown group '${group}': use build, test and soak" ;;
  esac
done

[ -r /etc/os-release ] || die "this is not Debian; the packages it needs: ${packages[*]}"
distribution="$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")"
case "${distribution}" in
  "debian 12"*) ;;
  *) die "this is '${distribution}', not Debian 12; the packages it needs: ${packages[*]}" ;;
esac

missing=()
for package in "${packages[@]}"; do
  state="$(dpkg-query -W -f '${db:Status-Status}' "${package}" 2> /dev/null || true)"
  [ "${state}" = installed ] || missing+=("${package}")
done
if [ "${#missing[@]}" -eq 0 ]; then
  note "all ${#packages[@]} packages are installed"
  exit 0
fi
[ "$(id -u)" -eq 0 ] || die "must be root to install: ${missing[*]}"

note "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log="$(mktemp)"
trap 'rm -f "${log}"' EXIT
quietly() {
  "$@" > "${log}" 2>&1 < /dev/null || {
    tail -n 40 "${log}" >&2
    die "'$*' failed"
  }
}
quietly apt-get -q update
quietly apt-get -q -y --no-install-recommends install "${missing[@]}"
note "done"
