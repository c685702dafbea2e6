#!/usr/bin/env python3
"""Makes a Python environment with the Triton that tests compile with, and prints its interpreter.

    tests/triton_environment.py            # build/triton/bin/python, made from PyPI the first time

All build trees share it. Ends with 77 (CTest: skipped) and a line that says why where it is not
there and PyPI cannot be reached. NumPy and pytest are for kernels that run in Triton's interpreter.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Sequence

SKIPPED = 77
FOLDER = Path(__file__).resolve().parents[1] / "build" / "triton"
# Triton exactly: what its compiler makes of a kernel is compared with what is written in tests.
REQUIREMENTS = ["triton==3.6.0", "numpy>=1.24,<3", "pytest>=7,<10"]


def prepare(folder: Path = FOLDER, requirements: Sequence[str] = tuple(REQUIREMENTS)):
    """Returns the interpreter of an environment with the requirements; None where it could not be made."""
    python = folder / "bin" / "python"
    stamp = folder / "requirements.sha256"
    wanted = hashlib.sha256("\n".join(requirements).encode()).hexdigest()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Tests run side by side.
        if stamp.exists() and stamp.read_text() == wanted and works(python):
            return python
        if not install(folder, python, requirements):
            return None
        stamp.write_text(wanted)
        return python


def works(python: Path) -> bool:
    """Whether the interpreter is still that which the packages are of. Whoever asks may be another one."""
    return python.exists() and subprocess.run([python, "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def install(folder: Path, python: Path, requirements: Sequence[str]) -> bool:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"no environment can be made in {folder}: {error}", file=sys.stderr)
        return False
    # Compiled as it is imported: most of it never is.
    command = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *requirements]
    return subprocess.run(command, stdout=sys.stderr, check=False).returncode == 0


def main() -> int:
    python = prepare()
    if python is None:
        print("skipped: PyPI cannot be reached, and there is no environment with Triton yet")
        return SKIPPED
    print(python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
