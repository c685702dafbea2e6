"""scripts/lib/finish_wheel.py: what release.sh does to a wheel when the libraries are inside."""

import base64
import csv
import hashlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import tables

TOOL = tables.ROOT / "scripts" / "lib" / "finish_wheel.py"
INFO = "wavetune-1.dist-info"

pytestmark = pytest.mark.skipif(shutil.which("dpkg") is None, reason="libraries are not Debian's")


def make_wheel(path, libraries):
    with zipfile.ZipFile(path, "w") as wheel:
        members = ["wavetune/__init__.py", f"{INFO}/METADATA", *(f"wavetune.libs/{name}" for name in libraries)]
        for member in members:
            wheel.writestr(member, member)
        wheel.writestr(f"{INFO}/RECORD", "".join(f"{name},,\n" for name in [*members, f"{INFO}/RECORD"]))


def run(wheel):
    command = [sys.executable, TOOL, wheel, "--own", tables.ROOT / "LICENSE"]
    command += ["--site-packages", sysconfig.get_path("purelib")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("times", [1, 2])
def test_each_bundled_library_brings_its_licence_and_the_texts_that_this_names(tmp_path, times):
    wheel = tmp_path / "wavetune-1-py3-none-any.whl"
    make_wheel(wheel, ["libprotobuf-0123abcd.so.32", "libgrpc++-89abcdef.so.1.51"])
    for _ in range(times):
        result = run(wheel)
        assert result.returncode == 0, result.stderr
    with zipfile.ZipFile(wheel) as made:
        texts = {name: made.read(name) for name in made.namelist()}
        record = list(csv.reader(made.read(f"{INFO}/RECORD").decode().splitlines()))
    assert len(texts) == len(made.namelist())
    licenses = f"{INFO}/licenses"
    assert texts[f"{licenses}/LICENSE"] == (tables.ROOT / "LICENSE").read_bytes()
    assert b"Google" in texts[f"{licenses}/third_party/libprotobuf32.txt"]
    assert b"Apache-2.0" in texts[f"{licenses}/third_party/libgrpc++1.51.txt"]
    assert b"Apache License" in texts[f"{licenses}/third_party/common-licenses/Apache-2.0"]
    assert b"Lohmann" in texts[f"{licenses}/third_party/nlohmann-json3-dev.txt"]
    assert b"Wenzel Jakob" in texts[f"{licenses}/third_party/nanobind.txt"]
    assert texts[f"{licenses}/third_party/robin_map.txt"].startswith(b"/**\n * MIT License")
    assert [name for name, *_ in record] == list(texts)
    for name, digest, size in record:
        if name.startswith(licenses):
            expected = base64.urlsafe_b64encode(hashlib.sha256(texts[name]).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={expected}", str(len(texts[name])))


def test_a_library_of_unknown_licence_is_named_and_the_wheel_left_as_it_was(tmp_path):
    wheel = tmp_path / "wavetune-1-py3-none-any.whl"
    make_wheel(wheel, ["libnobody-0123abcd.so.1"])
    before = wheel.read_bytes()
    result = run(wheel)
    assert result.returncode == 1
    assert "libnobody.so.1 belongs to no Debian package" in result.stderr
    assert wheel.read_bytes() == before


def test_the_list_of_components_says_licences_and_what_is_compiled_in(tmp_path):
    wheel = tmp_path / "wavetune-1-py3-none-any.whl"
    make_wheel(wheel, ["libprotobuf-0123abcd.so.32"])
    member = f"{INFO}/sboms/auditwheel.cdx.json"
    with zipfile.ZipFile(wheel, "a") as made:
        made.writestr(member, json.dumps({"components": [{"name": "wavetune"}, {"name": "libprotobuf32"}]}))
    result = run(wheel)
    assert result.returncode == 0, result.stderr
    with zipfile.ZipFile(wheel) as made:
        assert made.namelist().count(member) == 1
        components = {component["name"]: component for component in json.loads(made.read(member))["components"]}
    assert set(components) >= {"wavetune", "libprotobuf32", "nanobind", "nlohmann-json3-dev", "libcli11-dev"}
    assert components["wavetune"]["licenses"] == [{"license": {"name": "Apache-2.0"}}]
    assert {"license": {"name": "BSD-3-Clause~Google"}} in components["libprotobuf32"]["licenses"]
    assert components["nanobind"]["version"] == importlib.metadata.version("nanobind")
    assert all(component["licenses"] for component in components.values())


def symbols(library, kind):
    table = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[7] for line in table.splitlines() if len(line.split()) > 7 and line.split()[4] == kind}


def test_no_symbol_is_one_for_the_whole_process(tmp_path):
    (library,) = Path("/usr/lib").glob("*/libprotobuf.so.32")
    wheel = tmp_path / "wavetune-1-py3-none-any.whl"
    make_wheel(wheel, [])
    member = "wavetune.libs/libprotobuf-0123abcd.so.32"
    with zipfile.ZipFile(wheel, "a") as made:
        made.write(library, member)
    result = run(wheel)
    assert result.returncode == 0, result.stderr
    with zipfile.ZipFile(wheel) as made:
        made.extract(member, tmp_path)
    unique = symbols(library, "UNIQUE")
    assert len(unique) > 10
    assert symbols(tmp_path / member, "UNIQUE") == set()
    assert symbols(tmp_path / member, "WEAK") == symbols(library, "WEAK") | unique
