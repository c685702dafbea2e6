"""Before any test module imports Triton: in pytest's process kernels are interpreted."""

import os

os.environ["TRITON_INTERPRET"] = "1"
