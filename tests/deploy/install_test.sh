#!/usr/bin/env bash
# Wheels in bare roots that have Python alone: installed by pip, and a first tour, for a user who is not root and without a network.
# Then what goes wrong: a wheel of another machine, a C library that is too old, an upgrade, a home that cannot be written to, no /dev/shm.
#
#   tests/deploy/install_test.sh build/release-artefacts
#
# Needs root, mmdebstrap and mirrors (WAVETUNE_DEBIAN_MIRROR, WAVETUNE_UBUNTU_MIRROR), and Ubuntu's keyring (WAVETUNE_UBUNTU_KEYRING,
# else where Ubuntu's package has it). Roots stay in build/roots for the next time.
# Says which it skipped, and why.

. "$(dirname "$0")/../../scripts/lib/common.sh"

skip() {
  echo "skipped: $*"
  exit 0
}
[ "$#" -eq 1 ] || die "usage: tests/deploy/install_test.sh FOLDER_OF_WHEELS"
artefacts="$(realpath "$1")"
[ "$(id -u)" -eq 0 ] || skip "it needs root for roots of its own"
command -v mmdebstrap > /dev/null || skip "no mmdebstrap here: apt-get install mmdebstrap"
unshare --mount --net true 2> /dev/null || skip "no namespaces here"

debian="${WAVETUNE_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
ubuntu="${WAVETUNE_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}"
work="$(mktemp -d)"
root="${work}/root"
trap 'rm -rf --one-file-system "${work}"' EXIT
skipped=()
toured=0

# Why there is no root.
reason() { grep -m 1 -E '^(W: GPG|Err|E:)' "${work}/mmdebstrap.log" || tail -n 1 "${work}/mmdebstrap.log"; }

# make_root SUITE MIRROR COMPONENTS: in ${root}.
make_root() {
  local tar="${repo_root}/build/roots/$1.tar" signed=""
  mkdir -p "${repo_root}/build/roots"
  rm -rf --one-file-system "${root}"
  if [ ! -s "${tar}" ]; then
    [ "$2" != "${ubuntu}" ] || signed="${WAVETUNE_UBUNTU_KEYRING:+[signed-by=${WAVETUNE_UBUNTU_KEYRING}]}"
    mmdebstrap --mode=root --variant=apt --format=tar --include=python3,python3-venv "$1" "${tar}.new" "deb ${signed} $2 $1 $3" \
      > "${work}/mmdebstrap.log" 2>&1 || return 1
    mv "${tar}.new" "${tar}"
  fi
  mkdir "${root}"
  tar -x -C "${root}" -f "${tar}"
  mkdir -p "${root}/srv/wheels" "${root}/home/tourist"
  cp "${artefacts}"/*.whl "${root}/srv/wheels"
  cp tests/deploy/tour.sh "${root}/srv"
  chown 1000:1000 "${root}/home/tourist"
}

# in_root MOUNTS COMMAND...: as the tourist, without a network; MOUNTS is run before, with the root as $0.
in_root() {
  local mounts="$1"
  shift
  unshare --mount --pid --net --fork --kill-child sh -ec '
    root="$0"; mounts="$1"; shift
    mount -t proc proc "${root}/proc"
    mkdir -p "${root}/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "${root}/dev/shm"
    (set -- "${root}"; eval "${mounts}") && exec chroot --userspec=1000:1000 --groups= "${root}" env -i PATH=/usr/bin:/bin HOME=/home/tourist LANG=C.UTF-8 "$@"
  ' "${root}" "${mounts}" "$@"
}

# What one root must do.
tour() {
  in_root : sh /srv/tour.sh install && in_root : sh /srv/tour.sh tour && in_root : sh /srv/tour.sh refused &&
    in_root : sh /srv/tour.sh upgraded &&
    in_root 'mount -t tmpfs -o ro tmpfs "$1/dev/shm"' sh /srv/tour.sh tour &&
    in_root 'umount "$1/dev/shm" && rmdir "$1/dev/shm"' sh /srv/tour.sh tour &&
    in_root 'mount -t tmpfs -o ro tmpfs "$1/home/tourist"' sh /srv/tour.sh read-only-home
}

while read -r name suite version mirror components; do
  if ! ls "${artefacts}"/wavetune-*-cp"${version/./}"-*.whl > /dev/null 2>&1; then
    skipped+=("${name}: no wheel for Python ${version}")
  elif ! make_root "${suite}" "${mirror}" "${components}"; then
    skipped+=("${name}: $(reason)")
  else
    note "${name}, Python ${version}"
    tour || die "${name}: the tour failed"
    toured="$((toured + 1))"
  fi
done << ROOTS
Debian-12 bookworm 3.11 ${debian} main
Debian-13 trixie 3.13 ${debian} main
Ubuntu-22.04 jammy 3.10 ${ubuntu} main universe
Ubuntu-24.04 noble 3.12 ${ubuntu} main universe
ROOTS

# Debian 11 has glibc 2.31. Its Python is 3.9, so the wheel is called one for that.
if make_root bullseye "${debian}" main; then
  note "Debian-11, an older C library"
  in_root : sh /srv/tour.sh older-glibc || die "Debian-11: not refused in clear words"
else
  skipped+=("Debian-11: $(reason)")
fi
for text in "${skipped[@]}"; do echo "skipped: ${text}"; done
[ "${toured}" -gt 0 ] || die "no root could be made: nothing was tried"
note "wheels install and run in ${toured} bare roots"
