"""What wheels of scripts/release.sh must be: small, whole, of one platform, and no trouble to other packages.

    python3 tests/deploy/wheel_test.py build/release-artefacts                    # reads the wheels
    python3 tests/deploy/wheel_test.py build/release-artefacts --imports FOLDER   # and imports this Python's beside large packages

FOLDER keeps an environment with what is imported, from PyPI: gigabytes the first time.
"""

import argparse
import itertools
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

MOST_MIB = 40
PROGRAMS = ("wavetune", "wavetuned", "wavetune-agent")
# Each brings libraries that the wheel has, too, or replaces the allocator, or loads much into the process.
OTHERS = {
    "grpc": ("grpcio", "import grpc; grpc.insecure_channel('unix:/nowhere').close()"),
    "protobuf": ("protobuf", "from google.protobuf import struct_pb2; struct_pb2.Struct().update({'a': 1})"),
    "pyarrow": ("pyarrow", "import pyarrow.compute, pyarrow.flight; assert pyarrow.compute.sum([1, 2]).as_py() == 3"),
    "onnxruntime": ("onnxruntime", "import onnxruntime; onnxruntime.get_available_providers()"),
    "torch": ("torch", "import torch; assert torch.ones(8, 8).matmul(torch.ones(8, 8))[0, 0] == 8"),
}
# A call that goes through gRPC, and a decision of a table that goes through protobuf.
OURS = """import os, wavetune
kernels = os.path.join(os.path.dirname(wavetune.__file__), 'programs/share/wavetune/kernels')
table = kernels + '/triton_gemm/tables/h200.table'
client = wavetune.connect('unix:/nowhere/reader.sock', cache_dir=None, table_file=table, timeout_s=0.2)
assert client.tuner('triton_gemm').resolve(m=128, n=2560, k=960).source is not wavetune.Source.DEFAULT"""


def check(true, what):
    if not true:
        sys.exit(f"error: not so: {what}")


def read_wheel(wheel):
    size = wheel.stat().st_size / 2**20
    check(size <= MOST_MIB, f"{wheel.name} is {size:.1f} MiB, at most {MOST_MIB}")
    tag = re.search(r"-cp3(\d+)-cp3\1-manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    check(tag and int(tag[2]) <= 35, f"{wheel.name} runs with glibc 2.35, Ubuntu 22.04's")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = set(archive.namelist())
        for program in PROGRAMS:
            (script,) = [name for name in names if re.fullmatch(rf"wavetune-[^/]+\.data/scripts/{program}", name)]
            check(archive.read(script).startswith(b"#!python"), f"{script} is started by the environment's Python")
            check(archive.getinfo(f"wavetune/programs/bin/{program}").external_attr >> 16 & 0o111, f"{program} can be executed")
        for end in ("/triton_gemm/tables/h200.table", "/gemm_bf16/manifest.textproto"):
            check(any(name.endswith(end) for name in names), f"{wheel.name} has {end}")
        archive.extractall(folder)
        (extension,) = Path(folder).glob("wavetune/_native*.so")
        exported = dynamic_symbols(extension, "--defined-only")
        check(exported == ["PyInit__native"], f"{extension.name} exports nothing but the module: {exported}")
        libraries = sorted(Path(folder).glob("wavetune.libs/*"))
        for library in libraries:
            check(" UNIQUE " not in run("readelf", "--dyn-syms", "--wide", library), f"{library.name} has no symbol for the whole process")
    print(f"{wheel.name}: {size:.1f} MiB, {len(libraries)} libraries, one symbol")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def dynamic_symbols(library, *options):
    return [line.split()[-1] for line in run("nm", "-D", *options, library).splitlines()]


def import_beside(wheel, folder):
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *(package for package, _ in OTHERS.values())], check=True)
    subprocess.run([*pip, "--no-index", "--force-reinstall", wheel], check=True)
    orders = [order for name in OTHERS for order in ([name, None], [None, name])]
    orders += [[*OTHERS, None], [None, *OTHERS], [*reversed(OTHERS), None], [None, *reversed(OTHERS)]]
    orders += [[first, None, second] for first, second in itertools.permutations(OTHERS, 2)]
    for order in orders:
        code = "\n".join(OURS if name is None else OTHERS[name][1] for name in order)
        # Once more when all are there: what came last may have taken something from what came first.
        result = subprocess.run([python, "-c", f"{code}\n{OURS}"], capture_output=True, text=True, check=False)
        said = ", ".join(name or "wavetune" for name in order)
        check(result.returncode == 0, f"these work in one process: {said}\n{result.stderr[-2000:]} ({result.returncode})")
    print(f"imported beside {', '.join(OTHERS)} in {len(orders)} orders")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--imports", type=Path)
    arguments = parser.parse_args()
    wheels = sorted(arguments.folder.glob("wavetune-*.whl"))
    check(wheels, f"{arguments.folder} has wheels")
    for wheel in wheels:
        read_wheel(wheel)
    if arguments.imports:
        own = [wheel for wheel in wheels if f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in wheel.name]
        check(own, f"there is a wheel of this Python, {sys.version.split()[0]}")
        import_beside(own[0].resolve(), arguments.imports)


if __name__ == "__main__":
    main()
