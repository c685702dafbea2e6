#!/usr/bin/env python3
"""Becomes the program of its own name that the wheel put beside the package: wavetune, wavetuned or wavetune-agent.

The programs are not scripts of the wheel themselves, as they find libraries and kernels by where they lie, and only the package's
folder looks the same in every environment.
"""

import os
import sys
from importlib.util import find_spec

package = find_spec("wavetune")  # Found, not imported: that loads the extension.
name = os.path.basename(sys.argv[0])
if package is None or package.origin is None:
    sys.exit(f"{name}: {sys.executable} has the package wavetune no more: install the wheel there again")
program = os.path.join(os.path.dirname(package.origin), "programs", "bin", name)
# `python3`, with which an agent compiles Triton where nobody names another, is this Python.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
try:
    os.execv(program, sys.argv)
except OSError as error:
    sys.exit(f"{name}: {program}: {error.strerror}; install the wheel again, or, where it is of another machine, the one of this")
