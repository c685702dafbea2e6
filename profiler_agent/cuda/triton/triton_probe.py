"""Writes which Triton this Python has, without importing it.

Embedded in wavetune-agent, which runs it as `PYTHON -c THIS`.
A frame as every worker's: a 4-byte little-endian length, then JSON.

    {"python": PATH, "version": "3.6.0", "ptxas": "12.8.93", "ptxas_blackwell": "12.9.86"}

Why not imported: an agent asks at every start, also where no kernel needs Triton.
"""

import importlib.util
import json
import os
import re
import struct
import subprocess
import sys


def find_triton():
    """Returns the folder of the package, or None."""
    sys.path[:] = [path for path in sys.path if path]
    spec = importlib.util.find_spec("triton")
    return None if spec is None or spec.origin is None else os.path.dirname(spec.origin)


def version_in(folder: str) -> str:
    with open(os.path.join(folder, "__init__.py"), encoding="utf-8") as file:
        found = re.search(r"""^__version__ = ['"]([^'"]+)['"]""", file.read(), re.MULTILINE)
    return found[1] if found else ""


def ptxas_version(folder: str, name: str, variable: str) -> str:
    """Returns the version of the ptxas that Triton runs, "" where there is none."""
    path = os.environ.get(variable) or os.path.join(folder, "backends", "nvidia", "bin", name)
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=True, timeout=10
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(r"V(\d+(?:\.\d+)+)", said)
    return found[1] if found else ""


def main() -> None:
    said = {"python": sys.executable, "version": "", "ptxas": "", "ptxas_blackwell": ""}
    folder = find_triton()
    if folder is not None:
        said["version"] = version_in(folder)
        said["ptxas"] = ptxas_version(folder, "ptxas", "TRITON_PTXAS_PATH")
        said["ptxas_blackwell"] = (
            ptxas_version(folder, "ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH") or said["ptxas"]
        )
    body = json.dumps(said).encode()
    sys.stdout.buffer.write(struct.pack("<I", len(body)) + body)
    sys.stdout.buffer.flush()


main()
