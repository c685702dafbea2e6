#!/usr/bin/env bash
# The root of a container: Debian 12 with the packages, nothing else. The same image runs daemon, agent and command line.
#
#   deploy/container/build_root.sh build/release/packages wavetune.tar
#   deploy/container/build_root.sh --users                     # the users that it gives the packages, as sysusers.d has them
#   docker import --change 'ENTRYPOINT ["/usr/bin/wavetuned"]' wavetune.tar wavetune:0.1.0      # or podman, buildah, crane
#
# Needs root, mmdebstrap and a Debian mirror (the machine's own sources). WAVETUNE_CONTAINER_PACKAGES adds packages, as
# "pocl-opencl-icd" for nodes without a GPU. Users have fixed numbers, which deploy/kubernetes names. It takes a minute, mostly of
# downloads, and gives 230 MiB.

. "$(dirname "$0")/../../scripts/lib/common.sh"

# Instead of the packages' own: folders of a node are these users' under the same numbers in every pod.
users() {
  sed -E -e 's/^(u +wavetune +)-/\1890/' -e 's/^(u +wavetune-agent +)-/\1891/' -e 's/^(g +wavetune-admin +)-/\1892/' \
    deploy/sysusers.d/wavetune.conf
}
if [ "$*" = --users ]; then
  users
  exit
fi
[ "$#" -eq 2 ] || die "usage: deploy/container/build_root.sh PACKAGES_FOLDER TAR"
packages="$(realpath "$1")"
tar="$2"
[ "$(id -u)" -eq 0 ] || die "must be root"
command -v mmdebstrap > /dev/null || die "no mmdebstrap: apt-get install mmdebstrap"
debs=("${packages}"/wavetune_*.deb "${packages}"/wavetune-agent_*.deb "${packages}"/wavetune-kernels_*.deb)
for deb in "${debs[@]}"; do [ -s "${deb}" ] || die "${deb} is not there: run cpack in the build folder"; done

sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ -s "${file}" ] && sources+=("${file}")
done

scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT
users > "${scratch}/wavetune.conf"

hooks=(
  --customize-hook="mkdir -p \"\$1/etc/sysusers.d\" && cp '${scratch}/wavetune.conf' \"\$1/etc/sysusers.d/wavetune.conf\""
  --customize-hook='mkdir -p "$1/tmp/packages"'
)
for deb in "${debs[@]}"; do hooks+=(--customize-hook="cp '${deb}' \"\$1/tmp/packages\""); done
hooks+=(
  --customize-hook="chroot \"\$1\" sh -c 'apt-get -q -y --no-install-recommends install /tmp/packages/*.deb ${WAVETUNE_CONTAINER_PACKAGES:-}'"
  # Mounted over, or where nothing is, the users' own; and no logs, lists or packages of apt.
  --customize-hook='chroot "$1" install -d -o wavetune -g wavetune /run/wavetune'
  --customize-hook='chroot "$1" install -d -m 0700 -o wavetune -g wavetune /var/lib/wavetune'
  --customize-hook='chroot "$1" install -d -m 0700 -o wavetune-agent -g wavetune-agent /var/cache/wavetune-agent'
  --customize-hook='rm -rf "$1/tmp/packages" "$1/var/lib/apt/lists" "$1/var/cache/apt" "$1/var/log"/*'
)
# /run would be emptied at the end.
mmdebstrap --mode=root --variant=apt --format=tar --skip=cleanup/run "${hooks[@]}" bookworm "${tar}" "${sources[@]}"
note "${tar}: $(($(stat -c %s "${tar}") >> 20)) MiB"
