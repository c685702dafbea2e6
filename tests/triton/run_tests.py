#!/usr/bin/env python3
"""Runs the tests of the Triton kernels; CTest calls it.

    tests/triton/run_tests.py                # no GPU: Triton's interpreter, and its compiler
    tests/triton/run_tests.py -k attention   # arguments go to pytest

The environment is that of tests/triton_environment.py.
"""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import triton_environment  # noqa: E402


def main() -> int:
    python = triton_environment.prepare()
    if python is None:
        print("skipped: PyPI cannot be reached, and there is no environment with Triton yet")
        return triton_environment.SKIPPED
    cache = {"TRITON_CACHE_DIR": str(triton_environment.FOLDER / "cache")}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
    return subprocess.run(command, cwd=FOLDER, env={**os.environ, **cache}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
