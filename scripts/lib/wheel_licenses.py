#!/usr/bin/env python3
"""Puts the licences of everything that is inside of a repaired wheel into its dist-info/licenses.

    scripts/lib/wheel_licenses.py WHEEL --own LICENSE --site-packages build/python/wheel-venv-cp311/lib/python3.11/site-packages

build_wheel.sh calls it after auditwheel, which copies shared libraries of the system into the wheel and leaves their
licences behind. Those are found as Debian keeps them: each library belongs to a package, whose copyright file is
/usr/share/doc/PACKAGE/copyright and may refer to texts in /usr/share/common-licenses. So are those of headers that are
compiled in. nanobind, and robin_map inside of it, are compiled into the extension, too; SITE_PACKAGES is where the build
had them from. Fails where the licence of something is not found: a wheel without it must not be passed on.
"""

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

DOCUMENTS = Path("/usr/share/doc")
COMMON = Path("/usr/share/common-licenses")
# Packages of headers that are compiled into the extension.
HEADERS = ("nlohmann-json3-dev",)


class Missing(Exception):
    """A licence that was not found; the message says whose."""


def bundled_libraries(names):
    """Returns the file names, as they were, of the libraries among a wheel's members: auditwheel adds a hash."""
    libraries = [Path(name).name for name in names if re.match(r"[^/]+\.libs/[^/]+", name)]
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


def add_to_wheel(wheel, texts):
    """Adds files to dist-info/licenses, in place of what it had, and to RECORD."""
    rewritten = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(rewritten, "w", zipfile.ZIP_DEFLATED) as new:
        (record,) = [name for name in old.namelist() if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)]
        folder = record.removesuffix("RECORD") + "licenses/"
        for member in old.infolist():
            if member.filename != record and not member.filename.startswith(folder):
                new.writestr(member, old.read(member))
        lines = [line for line in old.read(record).decode().splitlines() if not line.startswith((folder, record))]
        for name, text in texts.items():
            new.writestr(folder + name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
            lines.append(f"{folder}{name},sha256={digest},{len(text)}")
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
    try:
        texts = {"LICENSE": arguments.own.read_bytes()}
        for name, text in {**package_licenses(libraries), **nanobind_licenses(arguments.site_packages)}.items():
            texts[f"third_party/{name}"] = text
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    add_to_wheel(arguments.wheel, texts)
    print(f"{arguments.wheel.name}: {len(libraries)} libraries, {len(texts)} licence files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
