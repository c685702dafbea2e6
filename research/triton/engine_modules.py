"""Imports the modules of vLLM and SGLang that hold the experts' kernel and read its files, out of unpacked wheels.

Only those modules are the engines' own. The rest of the package, with all that it needs, is stood in for: neither
engine has to be installed, and what they compiled is not needed. Needs torch and Triton.

    pip download --no-deps vllm==0.33.0 sglang==0.5.23     # and unzip each into a folder
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types
from pathlib import Path
from typing import Any, Optional
from unittest import mock

import torch
import triton
import triton.language
from triton.backends.compiler import GPUTarget

_VLLM = "vllm.model_executor.layers.fused_moe"
_SGLANG_KERNEL = "sglang.kernels.ops.moe.fused_moe_triton_kernels"
_SGLANG_READER = "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config"


class _StandIn(types.ModuleType):
    """A module in which everything is there, and nothing is anything."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = mock.MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `real` modules of a package in `root`, and a stand-in for each of its others."""

    def __init__(self, root: Path, package: str, real: set[str]) -> None:
        self._root, self._package, self._real = root, package, real

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".")[0] != self._package:
            return None
        if name not in self._real:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        file = self._root.joinpath(*name.split(".")).with_suffix(".py")
        if not file.exists():
            raise ImportError(f"{self._root} has no {name}: is it an unpacked wheel?", name=name)
        return importlib.util.spec_from_file_location(name, file)

    def create_module(self, spec: Any) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class _Hopper:
    """What the engines ask of a GPU's platform."""

    simple_compile_backend = "eager"

    def __init__(self, device_name: str) -> None:
        self._device_name = device_name

    def get_device_name(self, device_id: int = 0) -> str:
        return self._device_name

    def is_cuda(self) -> bool:
        return True

    is_cuda_alike = is_cuda

    def is_rocm(self) -> bool:
        return False

    is_xpu = is_cpu = is_rocm

    def is_device_capability(self, capability: Any) -> bool:
        return capability in (90, (9, 0))

    def is_device_capability_family(self, capability: int) -> bool:
        return capability == 90

    def has_device_capability(self, capability: Any) -> bool:
        return (capability if isinstance(capability, int) else 10 * capability[0] + capability[1]) <= 90

    def fp8_dtype(self) -> torch.dtype:
        return torch.float8_e4m3fn


def vllm(root: Path, device_name: str) -> types.ModuleType:
    """Returns vLLM's module fused_moe: kernel, launch, rule and reader of files."""
    sys.modules.setdefault("regex", re)
    real = {f"{_VLLM}.fused_moe", "vllm.utils.math_utils", "vllm.utils.platform_utils", "vllm.envs"}
    sys.meta_path.insert(0, _Finder(root, "vllm", real))
    platforms = importlib.import_module("vllm.platforms")
    platforms.current_platform = _Hopper(device_name)
    theirs = importlib.import_module("vllm.triton_utils")
    theirs.tl, theirs.triton, theirs.HAS_TRITON = triton.language, triton, True
    importlib.import_module(_VLLM).get_config = lambda: None
    utils = importlib.import_module(f"{_VLLM}.utils")
    utils.enable_swap_ab = lambda m, n: m < 64 <= n
    utils.resolve_moe_use_td = lambda: False
    return importlib.import_module(f"{_VLLM}.fused_moe")


def sglang(root: Path, device_name: str) -> tuple[types.ModuleType, types.ModuleType]:
    """Returns SGLang's module of the kernel and its launch, and that of its rule and reader of files."""
    sys.meta_path.insert(0, _Finder(root, "sglang", {_SGLANG_KERNEL, _SGLANG_READER}))
    utils = importlib.import_module("sglang.srt.utils")
    utils.is_cuda = lambda: True
    utils.is_hip = utils.is_cpu = utils.cpu_has_amx_support = lambda: False
    utils.is_sm90_supported = lambda *device: True
    utils.get_device_name = lambda *device: device_name
    importlib.import_module("sglang.srt.layers.moe.utils").get_moe_padding_size = lambda aiter: 0
    importlib.import_module("sglang.kernels.jit.utils").is_arch_support_pdl = lambda: True
    context = importlib.import_module("sglang.srt.runtime_context")
    context.get_exec().deterministic.enable_deterministic_inference = False
    importlib.import_module(_SGLANG_READER.rpartition(".")[0]).get_config = lambda: None
    return importlib.import_module(_SGLANG_KERNEL), importlib.import_module(_SGLANG_READER)


class _NoGpu:
    """A driver of Triton's that compiles for a GPU that is not there."""

    def __init__(self, architecture: int) -> None:
        self._architecture = architecture
        self.utils = types.SimpleNamespace(
            load_binary=lambda *binary: (0, 0, 32, 0, 1024),
            get_device_properties=lambda device: {
                "max_shared_mem": 232448,
                "multiprocessor_count": 132,
                "warpSize": 32,
            },
        )

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        return lambda *arguments, **named: None

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._architecture, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: Optional[int] = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("meta")

    def is_active(self) -> bool:
        return True

    def map_python_to_cpp_type(self, type_name: str) -> str:
        return "int"


def compile_without_gpu(architecture: int = 90) -> None:
    """Lets this process compile for a GPU, into the cache that a process with one reads, and launch nothing."""
    triton.runtime.driver.set_active(_NoGpu(architecture))


class CompiledOnly:
    """Takes a kernel's place in an engine's module: compiles what is launched."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        return lambda *arguments, **named: self._kernel.warmup(*arguments, grid=(1, 1, 1), **named)
