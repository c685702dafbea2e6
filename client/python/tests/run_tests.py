#!/usr/bin/env python3
"""Installs the package into an environment of its own and runs its tests; CTest calls it.

    client/python/tests/run_tests.py --build-dir build/dev            # links the libraries of that build tree
    client/python/tests/run_tests.py --build-dir build/dev -k bad     # the rest goes to pytest

The environment is BUILD_DIR/python/venv: made once from PyPI, and again when the requirements change. Ends with 77 (CTest: skipped)
where it is not there and PyPI cannot be reached. Tests that need Triton run once more, with the environment of
tests/triton_environment.py, where that can be made.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests"))
import triton_environment  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[1]
NO_TESTS = 5  # Pytest's: all were deselected.
# Upper bounds: a new major version of a tool is tried by a person, not found out by a red build.
REQUIREMENTS = [
    "scikit-build-core>=0.11,<2",
    "nanobind>=2.4,<3",
    "pytest>=7,<10",
    "numpy>=1.24,<3",
    "mypy>=1.8,<3",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, required=True)
    arguments, pytest_arguments = parser.parse_known_args()
    build_dir = arguments.build_dir.resolve()
    folder = build_dir / "python"

    python = triton_environment.prepare(folder / "venv", REQUIREMENTS)
    if python is None:
        print("skipped: PyPI cannot be reached, and there is no environment yet")
        return triton_environment.SKIPPED
    install(python, build_dir, folder)
    environment = {**os.environ, "WAVETUNE_BIN_DIR": str(build_dir / "bin")}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *pytest_arguments]
    result = subprocess.run(command, cwd=PACKAGE, env=environment, check=False).returncode
    return result or run_with_triton(python, environment, pytest_arguments)


def run_with_triton(python: Path, environment: dict, pytest_arguments: list) -> int:
    triton_python = triton_environment.prepare()
    if triton_python is None:
        print("skipped: tests with Triton, as PyPI cannot be reached and there is no environment with it yet")
        return 0
    query = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    package = subprocess.run(query, check=True, capture_output=True, text=True).stdout.strip()
    command = [triton_python, "-m", "pytest", "-p", "no:cacheprovider", *pytest_arguments, "tests/test_triton.py", "tests/test_engine_kernel.py"]
    result = subprocess.run(command, cwd=PACKAGE, env={**environment, "PYTHONPATH": package}, check=False).returncode
    return 0 if result == NO_TESTS else result


def install(python: Path, build_dir: Path, folder: Path) -> None:
    # Without isolation, so that a second run needs no PyPI and compiles only what changed.
    command = [
        python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
        "--force-reinstall", str(PACKAGE),
        "--config-settings", f"build-dir={folder / 'extension'}",
        "--config-settings", f"cmake.define.WAVETUNE_BUILD_DIR={build_dir}",
        "--config-settings", "cmake.define.WAVETUNE_WERROR=ON",
    ]  # fmt: skip
    # One job fewer would idle the machine, more would fight with the other tests.
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("WAVETUNE_JOBS", "2")}
    subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    sys.exit(main())
