#!/usr/bin/env bash
# The Debian packages on a bare node: they install without a compiler, run, are upgraded with their store, and are purged without a trace.
#
#   tests/deploy/deb_test.sh build/release          packages what is built there
#
# Needs root, mmdebstrap and a Debian mirror (the machine's own sources); says that it skipped, and why, where one lacks.
# WAVETUNE_BARE_ROOT names a tar of a bare root to begin with, instead of a new one; WAVETUNE_COMPONENTS, what is built of the packages,
# as "daemon;agent;kernels".
# There is no running systemd: the programs are started here as the units do, and the units are verified.

. "$(dirname "$0")/../../scripts/lib/common.sh"

skip() {
  echo "skipped: $*"
  exit 0
}
[ "$#" -eq 1 ] || die "usage: tests/deploy/deb_test.sh BUILD_FOLDER"
build="$(realpath "$1")"
[ "$(id -u)" -eq 0 ] || skip "it needs root for a root of its own"
command -v mmdebstrap > /dev/null || skip "no mmdebstrap here: apt-get install mmdebstrap"
unshare --mount true 2> /dev/null || skip "no mount namespaces here"

work="$(mktemp -d)"
root="${work}/root"
pids=()
clean_up() {
  status=$?
  # unshare ignores what asks; its children end with it.
  for pid in "${pids[@]}"; do kill -KILL "${pid}" 2> /dev/null || true; done
  wait
  if [ "${status}" -ne 0 ]; then
    for log in "${work}"/*.log; do
      [ -s "${log}" ] && { note "the end of ${log##*/}:"; tail -n 15 "${log}" >&2; }
    done
  fi
  rm -rf --one-file-system "${work}"
  exit "${status}"
}
trap clean_up EXIT
started="${SECONDS}"
took() { printf '== %s (%d s)\n' "$*" "$((SECONDS - started))"; }

# make_packages VERSION FOLDER
make_packages() {
  (cd "${build}" && cpack -B "$2" -D CPACK_PACKAGE_VERSION="$1" \
    -D CPACK_COMPONENTS_ALL="${WAVETUNE_COMPONENTS:-daemon;agent;kernels;development}" > "${work}/cpack.log" 2>&1)
  rm -rf "$2/_CPack_Packages"
}
# In the root, with a /proc of its own as the unit has it (ProcSubset=pid, ProtectProc=invisible).
in_root() {
  unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "${root}" "$@"
}
as_unit() {  # USER GROUPS COMMAND...
  local user="$1" groups="$2"
  shift 2
  exec unshare --mount --pid --fork --kill-child sh -c '
    umask 0077
    root="$0"; user="$1"; groups="$2"; shift 2
    mount -t proc -o subset=pid,hidepid=invisible proc "${root}/proc" || mount -t proc proc "${root}/proc"
    exec chroot --userspec="${user}" --groups="${groups}" "${root}" env -i PATH=/usr/bin:/bin HOME=/nonexistent "$@"
  ' "${root}" "${user}" "${groups}" "$@"
}
apt() { in_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" > "${work}/apt.log" 2>&1; }
apt_install() {  # old or new; the library is for machines that build.
  local files
  mapfile -t files < <(cd "${root}" && printf '/%s\n' srv/packages/"$1"/wavetune[_-]*.deb)
  apt install "${files[@]}"
}
wavetune() { in_root wavetune --endpoint unix:/run/wavetune/reader.sock "$@"; }
# await WHAT COMMAND...: for 30 s.
await() {
  local what="$1" attempt
  shift
  for attempt in $(seq 1 150); do
    if "$@" > /dev/null 2>&1; then return; fi
    sleep 0.2
  done
  die "${what}: never"
}
check() {
  local what="$1"
  shift
  "$@" || die "not so: ${what}"
  echo "   ${what}"
}

# What systemd does for the units.
start_services() {
  install -d -o wavetune -g wavetune -m 0755 "${root}/run/wavetune" 2> /dev/null ||
    in_root install -d -o wavetune -g wavetune -m 0755 /run/wavetune
  in_root install -d -o wavetune -g wavetune -m 0700 /var/lib/wavetune /var/lib/wavetune-backup
  in_root install -d -o wavetune-agent -g wavetune-agent -m 0700 /var/cache/wavetune-agent
  (as_unit wavetune:wavetune wavetune-agent,wavetune-admin \
    /usr/bin/wavetuned --config /etc/wavetune/wavetune.conf > "${work}/wavetuned.log" 2>&1) &
  pids=($!)
  await "the daemon serves" wavetune status
  (as_unit wavetune-agent:wavetune-agent wavetune-agent \
    /usr/bin/wavetune-agent --config /etc/wavetune/wavetune.conf > "${work}/agent.log" 2>&1) &
  pids+=($!)
  await "the agent attaches" sh -c "chroot '${root}' wavetune --endpoint unix:/run/wavetune/reader.sock status --json |
    grep -q '\"devices_attached\": *1'"
}
stop_services() {
  local pid
  for pid in "${pids[@]}"; do pkill -TERM -P "${pid}" || die "a service has ended"; done
  for pid in "${pids[@]}"; do wait "${pid}" || die "a service did not end in order"; done
  pids=()
}
table() { wavetune tables list --json; }
verify_units() {
  # With the host's systemd: units, executables and documents are the root's.
  systemd-analyze verify --root="${root}" --man=no wavetuned.service wavetune-agent.service wavetune-backup.timer > "${work}/verify.log" 2>&1 || return 1
  ! grep -E 'wavetune.*(not|failed|unknown|ignoring)' -i "${work}/verify.log"
}

note "packaging"
version="$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "${build}/CMakeCache.txt")"
make_packages "${version}~before" "${work}/old"
make_packages "${version}" "${work}/new"
for file in "${work}"/new/*.deb; do echo "   ${file##*/}: $(($(stat -c %s "${file}") / 1024)) KiB"; done
took "packaged"

note "a bare root"
if [ -n "${WAVETUNE_BARE_ROOT:-}" ]; then
  mkdir "${root}"
  tar -x -C "${root}" -f "${WAVETUNE_BARE_ROOT}"
else
  sources=(/etc/apt/sources.list /etc/apt/sources.list.d/*)
  usable=()
  for file in "${sources[@]}"; do
    case "${file}" in *.list | *.sources) [ -s "${file}" ] && usable+=("${file}") ;; esac
  done
  mmdebstrap --mode=root --variant=apt bookworm "${root}" "${usable[@]}" > "${work}/mmdebstrap.log" 2>&1 ||
    skip "no bare root could be made: $(tail -n 1 "${work}/mmdebstrap.log")"
fi
apt update || skip "the root has no mirror: $(tail -n 1 "${work}/apt.log")"
find "${root}/etc" "${root}/var" "${root}/usr" -xdev -name '*wavetune*' > "${work}/before"
took "made"

note "install"
mkdir -p "${root}/srv/packages" "${root}/srv/trace" "${root}/srv/kernels/gemm_bf16"
cp -r "${work}/old" "${work}/new" "${root}/srv/packages"
cp tests/data/h200/gemm_bf16/* "${root}/srv/trace"
cp tests/data/h200/gemm_bf16/manifest.textproto "${root}/srv/kernels/gemm_bf16"
chmod -R go-w "${root}/srv"
apt_install old || die "it does not install: $(tail -n 3 "${work}/apt.log")"
took "installed with $(grep -c '^Setting up' "${work}/apt.log") packages"
for tool in gcc cc c++ clang ld make python3; do
  check "no ${tool} on the node" sh -c "! chroot '${root}' sh -c 'command -v ${tool}' > /dev/null"
done
check "users are made" chroot "${root}" id -u wavetune-agent
for group in wavetune-agent wavetune-admin; do
  check "the daemon is in the group ${group}" sh -c "chroot '${root}' id -Gn wavetune | grep -qw ${group}"
done
check "the units are good" verify_units
for package in wavetune wavetune-agent wavetune-kernels; do
  check "${package} says what it is, and its changes" sh -c "chroot '${root}' sh -c \
    'dpkg-query -W -f \"\\\${binary:Synopsis}\" ${package} | grep -q \"^tuning decisions\" &&
     dpkg -L ${package} | grep -q changelog.Debian.gz'"
done
check "programs have manual pages, and shells complete commands" sh -c "chroot '${root}' dpkg -L wavetune wavetune-agent > '${work}/files' &&
  for file in man/man1/wavetune.1.gz man/man8/wavetuned.8.gz man/man8/wavetune-agent.8.gz bash-completion/completions/wavetune \
    zsh/vendor-completions/_wavetune fish/vendor_completions.d/wavetune.fish; do
    grep -qx \"/usr/share/\${file}\" '${work}/files' || exit 1
  done"
check "the configuration can be used" in_root wavetuned --config /etc/wavetune/wavetune.conf --check-config
check "so can the agent's" in_root wavetune-agent --config /etc/wavetune/wavetune.conf --check-config

note "run"
# A node without a GPU: a recorded one.
sed -i -e 's|^\[agent\]|&\nbackends = replay\nreplay-trace = /srv/trace|' \
  -e 's|^kernels-dir = .*|kernels-dir = /srv/kernels|' "${root}/etc/wavetune/wavetune.conf"
start_services
check "the store is the daemon's alone" test "$(stat -c %a "${root}/var/lib/wavetune")" = 700
check "files of the store are" sh -c "! find '${root}/var/lib/wavetune' -perm /077 | grep -q ."
for socket in reader:666 agent:660 admin:660; do
  check "${socket%:*}.sock has mode ${socket#*:}" test "$(stat -c %a "${root}/run/wavetune/${socket%:*}.sock")" = "${socket#*:}"
done
wavetune reprofile --kernel gemm_bf16 --budget 5 --wait > "${work}/profile.log" 2>&1 || die "it does not profile: $(tail -n 1 "${work}/profile.log")"
table > "${work}/tables.before"
check "a table serves" grep -q gemm_bf16 "${work}/tables.before"
check "the store is backed up where the configuration says" wavetune store backup
took "profiled"

note "upgrade"
stop_services
apt_install new || die "it does not upgrade: $(tail -n 3 "${work}/apt.log")"
check "the programs are new" sh -c "chroot '${root}' dpkg-query -W -f '\${Version}' wavetune | grep -q '^${version}-'"
check "what the operator configured stays" grep -q '^backends = replay' "${root}/etc/wavetune/wavetune.conf"
start_services
table > "${work}/tables.after"
check "the table serves as before" cmp -s "${work}/tables.before" "${work}/tables.after"
took "upgraded"

note "an old store"
stop_services
rm -rf "${root}/var/lib/wavetune"
cp -r tests/data/stores/schema_1 "${root}/var/lib/wavetune"
in_root chown -R wavetune:wavetune /var/lib/wavetune
start_services
check "the store of the first schema is read" wavetune tables list
stop_services

note "purge"
apt purge 'wavetune*' || die "it does not purge: $(tail -n 3 "${work}/apt.log")"
find "${root}/etc" "${root}/var" "${root}/usr" -xdev -name '*wavetune*' > "${work}/after"
check "nothing is left" diff "${work}/before" "${work}/after"
check "no user either" sh -c "! grep -q wavetune '${root}/etc/passwd' '${root}/etc/group'"
took "the packages install, run, upgrade and purge"
