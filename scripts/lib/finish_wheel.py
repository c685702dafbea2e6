#!/usr/bin/env python3
"""What a wheel lacks after auditwheel has put shared libraries of the system inside.

    scripts/lib/finish_wheel.py WHEEL --own LICENSE --site-packages build/python/wheel-venv-cp311/lib/python3.11/site-packages

scripts/release.sh calls it. Three things are done:

- The licences of everything inside go into dist-info/licenses. They are found as Debian keeps them: each library belongs to a
  package, whose copyright file is /usr/share/doc/PACKAGE/copyright and may refer to texts in /usr/share/common-licenses. So are
  those of headers that are compiled in. nanobind, and robin_map inside of it, are compiled into the extension, too; SITE_PACKAGES
  is where the build had them from. It fails where the licence of something is not found: a wheel without it must not be passed on.
- auditwheel's list of these packages and their versions (dist-info/sboms, CycloneDX) says their licences, too, and names the
  headers.
- Symbols that the loader makes one of in the whole process (STB_GNU_UNIQUE: static members of templates and of inline functions)
  become ordinary weak ones. Else a process that loads another gRPC or protobuf beside these would mix their data.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

DOCUMENTS = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
# Packages of headers that are compiled into the extension and the programs, and of the script that reports have inside.
HEADERS = ("libcli11-dev", "libjs-chart.js", "nlohmann-json3-dev", "opencl-c-headers", "opencl-clhpp-headers")
DYNSYM = 11
UNIQUE, WEAK = 10, 2


class Missing(Exception):
    """A licence that was not found; the message says whose."""


def information(wheel):
    (folder,) = {name.split("/")[0] for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)}
    return folder


def is_bundled(member):
    return re.match(r"[^/]+\.libs/[^/]+", member) is not None


def bundled_libraries(names):
    """Returns the file names, as they were, of the libraries among a wheel's members: auditwheel adds a hash."""
    libraries = [Path(name).name for name in names if is_bundled(name)]
    return sorted(re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library) for library in libraries)


def package_of(library):
    found = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    owners = {line.split(":")[0] for line in found.stdout.splitlines() if line.endswith(f"/{library}")}
    if len(owners) != 1:
        raise Missing(f"{library} belongs to {', '.join(sorted(owners)) or 'no Debian package'}: its licence is unknown")
    return owners.pop()


def package_licenses(libraries):
    """Returns texts by their names in dist-info/licenses: of the packages, and of what these refer to."""
    texts = {}
    for package in sorted({*HEADERS, *map(package_of, libraries)}):
        copyright_file = DOCUMENTS / package / "copyright"
        if not copyright_file.exists():
            raise Missing(f"package {package} has no {copyright_file}")
        texts[f"{package}.txt"] = copyright_file.read_bytes()
    referred = {
        name.decode().rstrip(".")
        for text in texts.values()
        for name in re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.+-]+)", text)
    }
    for name in sorted(referred):
        if not (COMMON / name).exists():
            raise Missing(f"a copyright file refers to {COMMON / name}, which is not there")
        texts[f"common-licenses/{name}"] = (COMMON / name).read_bytes()
    return texts


def nanobind_licenses(site_packages):
    found = sorted(site_packages.glob("nanobind-*.dist-info/**/LICENSE*"))
    header = site_packages / "nanobind" / "ext" / "robin_map" / "include" / "tsl" / "robin_map.h"
    comment = re.match(r"\s*(/\*\*?.*?\*/)", header.read_text() if header.exists() else "", re.DOTALL)
    if not found or comment is None:
        raise Missing(f"the licences of nanobind and robin_map are not in {site_packages}")
    return {"nanobind.txt": found[0].read_bytes(), "robin_map.txt": comment.group(1).encode() + b"\n"}


def license_names(text):
    """Returns the names in a copyright file, in Debian's words; where it is prose, where that is."""
    names = sorted(set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE)))
    return names or ["see dist-info/licenses/third_party"]


def with_licenses(bom, texts, site_packages):
    """Returns auditwheel's list of components, whole."""
    (nanobind,) = [path.stem.removeprefix("nanobind-") for path in site_packages.glob("nanobind-*.dist-info")]
    bom["components"].append({"type": "library", "name": "nanobind", "version": nanobind, "purl": f"pkg:pypi/nanobind@{nanobind}"})
    for package in HEADERS:
        query = ["dpkg-query", "-W", "-f", "${Version}", package]
        version = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        bom["components"].append({"type": "library", "name": package, "version": version, "purl": f"pkg:deb/debian/{package}@{version}"})
    for component in bom["components"]:
        name = component["name"]
        text = texts["LICENSE"] if name == "wavetune" else texts[f"third_party/{name}.txt"]
        names = {"wavetune": ["Apache-2.0"], "nanobind": ["BSD-3-Clause"]}.get(name) or license_names(text.decode())
        component["licenses"] = [{"license": {"name": name}} for name in names]
    return bom


def without_unique_symbols(library):
    """Returns a shared library's bytes (ELF, 64 bits, little endian) whose unique symbols are weak ones."""
    data = bytearray(library)
    if data[:6] != b"\x7fELF\x02\x01":
        return library
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for section in range(sections, sections + size * count, size):
        (kind,) = struct.unpack_from("<I", data, section + 4)
        if kind != DYNSYM:
            continue
        begin, length = struct.unpack_from("<QQ", data, section + 24)
        for info in range(begin + 4, begin + length, 24):
            if data[info] >> 4 == UNIQUE:
                data[info] = WEAK << 4 | data[info] & 15
    return bytes(data)


def rewrite(wheel, texts, instead_of):
    """Puts files into a wheel in place of those of a folder, weakens unique symbols, and writes RECORD anew."""
    rewritten = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(rewritten, "w", zipfile.ZIP_DEFLATED) as new:
        record = f"{information(old)}/RECORD"
        lines = []

        def add(member, data):
            new.writestr(member, data)
            name = member if isinstance(member, str) else member.filename
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")

        for member in old.infolist():
            name = member.filename
            if name != record and name not in texts and not name.startswith(instead_of):
                data = old.read(member)
                add(member, without_unique_symbols(data) if is_bundled(name) else data)
        for name, text in texts.items():
            add(name, text)
        new.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")
    os.replace(rewritten, wheel)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--own", type=Path, required=True)
    parser.add_argument("--site-packages", type=Path, required=True)
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.wheel) as wheel:
        libraries = bundled_libraries(wheel.namelist())
        folder = information(wheel)
        boms = {name: json.loads(wheel.read(name)) for name in wheel.namelist() if name == f"{folder}/sboms/auditwheel.cdx.json"}
    try:
        licenses = {"LICENSE": arguments.own.read_bytes()}
        for name, text in {**package_licenses(libraries), **nanobind_licenses(arguments.site_packages)}.items():
            licenses[f"third_party/{name}"] = text
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    texts = {f"{folder}/licenses/{name}": text for name, text in licenses.items()}
    for name, bom in boms.items():
        texts[name] = json.dumps(with_licenses(bom, licenses, arguments.site_packages), indent=1).encode()
    rewrite(arguments.wheel, texts, f"{folder}/licenses/")
    print(f"{arguments.wheel.name}: {len(libraries)} libraries, {len(licenses)} licence files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
