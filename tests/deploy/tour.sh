#!/bin/sh
# Runs inside a bare root, for tests/deploy/install_test.sh: a part of a first tour. The wheels are in /srv/wheels.
set -eu

version="$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
wheel="$(echo /srv/wheels/wavetune-*-"${version}"-*.whl)"
venv=/var/tmp/venv # Not at home, which cannot be written to in one part.
PATH="${venv}/bin:${PATH}"
fail() {
  echo "error: $*" >&2
  exit 1
}
said="$(mktemp)"
# must_say WORDS COMMAND...: fails, with these words.
must_say() {
  words="$1"
  shift
  if "$@" > "${said}" 2>&1; then fail "not refused: $*"; fi
  grep -q "${words}" "${said}" || { cat "${said}" >&2; fail "other words than '${words}': $*"; }
  echo "   $(grep -m 1 "${words}" "${said}")"
}
nothing_runs() {
  if grep -qs '^wavetune' /proc/[0-9]*/comm; then fail "something is left"; fi
}
pip() { "${venv}/bin/pip" --disable-pip-version-check "$@"; }
# as_version VERSION FOLDER: the wheel as it were of another version, with a module that this one has not.
as_version() {
  mkdir -p "$2"
  python3 - "${wheel}" "$1" "$2" << 'PYTHON'
import re, sys, zipfile
wheel, version, folder = sys.argv[1:]
name = wheel.split("/")[-1]
now = name.split("-")[1]
with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(f"{folder}/{name.replace(now, version, 1)}", "w") as new:
    for member in old.infolist():
        data = old.read(member)
        member.filename = member.filename.replace(f"wavetune-{now}.", f"wavetune-{version}.", 1)
        if member.filename.endswith("/METADATA"):
            data = re.sub(rb"(?m)^Version: .*$", b"Version: " + version.encode(), data, count=1)
        if member.filename.endswith("/RECORD"):
            data = re.sub(rb",sha256=[^,]*,\d+", b",,", data.replace(f"wavetune-{now}.".encode(), f"wavetune-{version}.".encode()))
            data += b"wavetune/gone.py,,\n"
        new.writestr(member, data)
    new.writestr("wavetune/gone.py", "")
PYTHON
}

case "$1" in
  install)
    python3 -m venv "${venv}"
    pip install -q --no-index "${wheel}"
    ;;

  tour)
    wavetune version
    wavetune --help > /dev/null
    wavetuned --version > /dev/null
    wavetune-agent --version > /dev/null
    wavetune up
    again="$(wavetune up 2>&1)" # It is there already, and nobody gave an option.
    case "${again}" in *"its own options"*) fail "${again}" ;; esac
    wavetune status > /dev/null
    python3 - << 'PYTHON'
import pathlib
import wavetune
table = pathlib.Path(wavetune.__file__).parent / "programs/share/wavetune/kernels/triton_gemm/tables/h200.table"
tuner = wavetune.connect(table_file=table).tuner("triton_gemm")
decision = tuner.resolve(m=128, n=2560, k=960)
assert tuner.origin is wavetune.Origin.FILE
assert decision.source is not wavetune.Source.DEFAULT, decision
print("  ", decision)
PYTHON
    (cd "${HOME}" && wavetune demo)
    wavetune down
    nothing_runs
    ;;

  refused)
    folder="$(mktemp -d)"
    other="${folder}/$(basename "${wheel}" | sed 's/x86_64/aarch64/')"
    cp "${wheel}" "${other}"
    must_say "aarch64.whl is not a supported wheel on this platform" pip install --no-index "${other}"
    other="${folder}/$(basename "${wheel}" | sed "s/${version}-${version}/cp39-cp39/")"
    cp "${wheel}" "${other}"
    must_say "cp39.*whl is not a supported wheel on this platform" pip install --no-index "${other}"
    rm -rf "${folder}"
    ;;

  older-glibc)
    python3 -m venv "${venv}"
    wheel="$(echo /srv/wheels/*.whl | cut -d' ' -f1)"
    tag="$(basename "${wheel}" | cut -d- -f3)"
    other="${HOME}/$(basename "${wheel}" | sed "s/${tag}-${tag}/cp39-cp39/")"
    cp "${wheel}" "${other}"
    must_say "manylinux.*whl is not a supported wheel on this platform" pip install --no-index "${other}"
    # Of what is wrong it is the C library: with the tag of this one it is for another Python alone.
    mv "${other}" "${HOME}/wavetune-0.1.0-cp39-cp39-manylinux_2_31_x86_64.whl"
    must_say "requires a different Python" pip install --no-index "${HOME}/wavetune-0.1.0-cp39-cp39-manylinux_2_31_x86_64.whl"
    ;;

  upgraded)
    rm -rf "${HOME}/older"
    as_version 0.0.1 "${HOME}/older"
    pip uninstall -q -y wavetune
    pip install -q --no-index "${HOME}"/older/*.whl
    python3 -c 'import wavetune.gone'
    wavetune up > /dev/null
    pip install -q --no-index --upgrade "${wheel}"
    if python3 -c 'import wavetune.gone' 2> /dev/null; then fail "the older version's files are still there"; fi
    wavetune status > /dev/null # The daemon still runs as it was started.
    wavetune down
    [ "$(pip list 2> /dev/null | grep -c wavetune)" -eq 1 ] || fail "two versions are installed"
    ;;

  read-only-home)
    must_say "XDG_STATE_HOME" wavetune up
    XDG_STATE_HOME="$(mktemp -d)"
    export XDG_STATE_HOME
    wavetune up > /dev/null
    wavetune down
    nothing_runs
    ;;
esac
