"""Compiles what the policies may launch, in processes, without a GPU: Triton's cache is filled as a GPU's launches would.

A driver that only says which GPU it would be makes the same cache entries as the real one.
"""

from __future__ import annotations

import multiprocessing
import os
import tarfile
import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Iterable, Sequence

import tuned_kernels
from models import Launch
from policies import Configuration

# What Triton keeps beside a cubin for people: emptied when a cache is packed.
TEXTS = (".ttir", ".ttgir", ".llir", ".ptx", ".source")


@dataclass(frozen=True)
class _Tensor:
    """A tensor as far as compiling goes: aligned."""

    dtype: str

    def data_ptr(self) -> int:
        return 0

    def __str__(self) -> str:
        return self.dtype


class Dtypes:
    bf16 = _Tensor("torch.bfloat16")
    fp32 = _Tensor("torch.float32")
    int32 = _Tensor("torch.int32")


class _NoGpu:
    """A driver of Triton's that compiles for an architecture and launches nothing."""

    def __init__(self, arch: int) -> None:
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", arch, 32)

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def _use(arch: int) -> None:
    from triton.runtime import driver

    driver.set_active(_NoGpu(arch))


def _compile(job: tuple[Launch, Configuration]) -> str:
    """Returns an empty text, or why it does not compile."""
    try:
        tuned_kernels.ahead(*job, Dtypes).compile()
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"


def jobs_of(wanted: Iterable[tuple[Launch, Configuration]]) -> list[tuple[Launch, Configuration]]:
    """Returns one of each that compiles to a kernel of its own."""
    own = {}
    for launch, configuration in wanted:
        own.setdefault(tuned_kernels.ahead(launch, configuration, Dtypes).compiled_as(), (launch, configuration))
    return list(own.values())


def compile_all(jobs: Sequence[tuple[Launch, Configuration]], arch: int, processes: int) -> tuple[list[str], float]:
    """Returns what failed, by job, and the seconds it took. Processes are started afresh: no CUDA context comes along."""
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes or os.cpu_count(), initializer=_use, initargs=(arch,)) as pool:
        failed = pool.map(_compile, jobs, chunksize=4)
    return failed, time.perf_counter() - started


def pack(cache: Path, file: Path) -> int:
    """Writes a cache into a tar file, texts emptied; returns its bytes."""
    with tarfile.open(file, "w:gz", compresslevel=6) as tar:
        for path in sorted(cache.rglob("*")):
            if not path.is_file() or path.suffix == ".so":
                continue
            content = b"" if path.suffix in TEXTS else path.read_bytes()
            entry = tarfile.TarInfo(str(path.relative_to(cache)))
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))
    return file.stat().st_size
