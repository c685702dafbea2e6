"""The experts' kernel that an engine launches: which configurations it compiles.

A table's kernel has the parameters, the loop and the launch of the engine's kernel, and is another program. Now and then a configuration
compiles as the one and not as the other, and an engine that is told to use it ends there.

`uncompiled` asks before an engine runs: it compiles the engine's own function, out of its own module, in processes of their own. The GPU
need not be there, and nothing else of the engine is imported. `compile_here` asks inside of a running engine, whose own launch then finds
the program compiled.

Stands alone: its processes run this file by its path, so it imports nothing of this package, and Triton where it compiles.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

# Modules of the kernel and its launch, the newest layout first.
MODULES = {
    "vllm": ("vllm.model_executor.layers.fused_moe.fused_moe",),
    "sglang": (
        "sglang.kernels.ops.moe.fused_moe_triton_kernels",
        "sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels",
    ),
}
_LAUNCHES = ("invoke_fused_moe_triton_kernel", "invoke_fused_moe_kernel")
_KERNEL = "fused_moe_kernel"
# Shared memory that a block may have, in bytes: CUDA C++ Programming Guide, table of compute capabilities.
_SHARED_BYTES = {80: 166912, 86: 101376, 87: 166912, 89: 101376, 90: 232448, 100: 232448, 103: 232448, 120: 101376}
_MOST_PROCESSES = 8


class Layer(NamedTuple):
    """One device's part of a layer of experts."""

    experts: int
    intermediate: int
    hidden: int
    top_k: int
    gated: bool = True  # gate_up makes two columns for each of the intermediate ones.


class Launch(NamedTuple):
    """What is launched at a number of tokens."""

    tokens: int
    gate_up: Mapping[str, Any]
    down: Mapping[str, Any]


class CannotTell(Exception):
    """Why nobody knows whether the engine's kernel compiles something."""


def uncompiled(
    engine: str, layer: Layer, launches: Sequence[Launch], control: Launch, architecture: int, root: Optional[Path] = None
) -> Dict[int, str]:
    """Returns those of `launches` that the engine's kernel does not compile: their places, and why.

    control: what the engine would launch by itself, at any count. Where that does not compile, the reason is elsewhere.
    architecture: of the GPU, as 90 for sm_90. root: the folder that has the engine's package; root_of(engine) unless given.

    Raises CannotTell: the engine or Triton is not there, or it is a version that is not known.
    Cost: seconds, in processes; what Triton's cache has is not compiled again.
    """
    package = root or root_of(engine)
    if package is None:
        raise CannotTell(f"{engine} is not installed, or has no {' or '.join(MODULES[engine])}")
    if importlib.util.find_spec("triton") is None:
        raise CannotTell("Triton is not installed")
    shares = max(1, min(_MOST_PROCESSES, os.cpu_count() or 1, -(-len(launches) // 4)))
    places = [list(range(share, len(launches), shares)) for share in range(shares)]
    work = _Work(engine, layer, architecture, str(package))
    with ThreadPoolExecutor(shares) as pool:
        reasons = list(pool.map(lambda own: _compile_share(work, [control, *(launches[place] for place in own)]), places))
    found = {}
    for own, (of_control, *rest) in zip(places, reasons):
        if of_control is not None:
            raise CannotTell(f"{engine}'s kernel does not compile what the engine uses by itself: {of_control}")
        found.update({place: reason for place, reason in zip(own, rest) if reason is not None})
    return found


def root_of(engine: str, folder: Optional[Path] = None) -> Optional[Path]:
    """Returns the folder that has the engine's package with its kernel, without importing it: the package that `folder` is
    in, or the one that is installed. None where there is none."""
    parents = [] if folder is None else [own.parent for own in (folder, *folder.parents) if own.name == engine]
    spec = importlib.util.find_spec(engine)
    if spec is not None and spec.submodule_search_locations:
        parents += [Path(location).parent for location in spec.submodule_search_locations]
    return next((parent for parent in parents if _module_in(engine, parent) is not None), None)


def compile_here(module: Any, layer: Layer, launch: Launch) -> None:
    """Compiles both products with the kernel of the engine's `module`, for this process's GPU.

    Raises whatever Triton raises where they do not compile, and CannotTell where the module is of a kind that is not known.
    """
    function = next((getattr(module, name) for name in _LAUNCHES if callable(getattr(module, name, None))), None)
    kernel = getattr(module, _KERNEL, None)
    if not isinstance(function, types.FunctionType) or not hasattr(kernel, "warmup"):
        raise CannotTell(f"{module.__name__} has no {_KERNEL} with a launch that is known")
    # A function of the same code that sees another kernel: the engine's own goes on as it was.
    compiled = CompiledOnly(kernel)
    seen = {**function.__globals__, _KERNEL: compiled}
    twin = types.FunctionType(function.__code__, seen, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    for down in (False, True):
        twin(**_arguments(module, function, layer, launch, down))


class CompiledOnly:
    """Takes the kernel's place: compiles what is launched, and looks whether the GPU has what it takes."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        return self._compile

    def _compile(self, *arguments: Any, **named: Any) -> None:
        from triton.runtime import driver

        compiled = self._kernel.warmup(*arguments, grid=(1, 1, 1), **named)
        active = driver.active
        most = active.utils.get_device_properties(active.get_current_device())["max_shared_mem"]
        if compiled.metadata.shared > most:
            raise RuntimeError(f"takes {compiled.metadata.shared} bytes of shared memory, a block may have {most}")


class _Type(str):
    """As much of a tensor's type as a launch looks at."""

    itemsize = 2  # Of what it makes descriptors of.


class _Tensor:
    """As much of a tensor as a launch looks at: contiguous, aligned, of nothing."""

    device = "cuda"

    def __init__(self, dtype: str, *extents: int) -> None:
        self.dtype = _Type(f"torch.{dtype}")
        self.shape = extents

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def size(self, dimension: int) -> int:
        return self.shape[dimension]

    def stride(self, dimension: Optional[int] = None) -> Any:
        strides: List[int] = []
        step = 1
        for extent in reversed(self.shape):
            strides.insert(0, step)
            step *= extent
        return tuple(strides) if dimension is None else strides[dimension]

    def numel(self) -> int:
        product = 1
        for extent in self.shape:
            product *= extent
        return product

    def data_ptr(self) -> int:
        return 1 << 20


def _arguments(module: Any, function: Any, layer: Layer, launch: Launch, down: bool) -> Dict[str, Any]:
    import triton.language

    tokens, configuration = launch.tokens, launch.down if down else launch.gate_up
    slots, rows = tokens * layer.top_k, configuration["BLOCK_SIZE_M"]
    # What vLLM does not sort is another program.
    single = hasattr(module, "_prepare_expert_assignment") and 4 * slots <= layer.experts
    length = min(slots * rows, slots + layer.experts * (rows - 1))
    width = (2 if layer.gated else 1) * layer.intermediate
    n, k = (layer.hidden, layer.intermediate) if down else (width, layer.hidden)
    weights = _Tensor("float32", tokens, layer.top_k)
    takes_none = function.__name__ == _LAUNCHES[0]
    tma = bool(configuration.get("USE_TMA"))
    known: Dict[str, Any] = {
        "A": _Tensor("bfloat16", slots if down else tokens, k),
        "B": _Tensor("bfloat16", layer.experts, n, k),
        "C": _Tensor("bfloat16", tokens, layer.top_k, n),
        "topk_weights": weights if down or not takes_none else None,
        "topk_ids": _Tensor("int32", tokens, layer.top_k),
        "sorted_token_ids": None if single else _Tensor("int32", length),
        "expert_ids": _Tensor("int32", slots if single else -(-length // rows)),
        "num_tokens_post_padded": _Tensor("int32", 1),
        "mul_routed_weight": down,
        "top_k": 1 if down else layer.top_k,
        "a_use_tma": tma and down,
        "b_use_tma": tma,
        "c_sorted": bool(launch.down.get("USE_TMA")) and not down,
        # Engines take these out before, or put them in.
        "config": {name: value for name, value in configuration.items() if name not in ("USE_TMA", "SPLIT_K")},
        "compute_type": triton.language.bfloat16,
        **dict.fromkeys(("A_scale", "B_scale", "B_zp", "B_bias", "bias", "block_shape")),
        **dict.fromkeys(("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16", "per_channel_quant"), False),
    }
    parameters = inspect.signature(function).parameters
    unknown = [name for name, own in parameters.items() if name not in known and own.default is own.empty]
    if unknown:
        raise CannotTell(f"{function.__name__} takes {', '.join(unknown)}, too")
    return {name: known[name] for name in parameters if name in known}


# Importing an engine's files without the engine.


class _StandIn(types.ModuleType):
    """A module in which everything is there, and nothing is anything."""

    __path__: List[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from unittest import mock  # Late: who only asks inside of an engine needs none of this.

        value = mock.MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `real` modules of a package in `root`, and a stand-in for each of its others."""

    def __init__(self, package: str, root: Path = Path(), real: Iterable[str] = ()) -> None:
        self._package, self._root, self._real = package, root, frozenset(real)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.split(".")[0] != self._package:
            return None
        if fullname not in self._real:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return importlib.util.spec_from_file_location(fullname, _file(self._root, fullname))

    def create_module(self, spec: Any) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _file(root: Path, module: str) -> Path:
    return root.joinpath(*module.split(".")).with_suffix(".py")


def _module_in(engine: str, root: Path) -> Optional[str]:
    return next((own for own in MODULES[engine] if _file(root, own).exists()), None)


class _Platform:
    """What engines ask of the platform, where it is a GPU of NVIDIA's."""

    simple_compile_backend = "eager"

    def __init__(self, architecture: int, device_name: str) -> None:
        self._architecture, self._device_name = architecture, device_name

    def get_device_name(self, device_id: int = 0) -> str:
        return self._device_name

    def is_cuda(self) -> bool:
        return True

    is_cuda_alike = is_cuda

    def is_rocm(self) -> bool:
        return False

    is_xpu = is_cpu = is_rocm

    def is_device_capability(self, capability: Any) -> bool:
        return _number(capability) == self._architecture

    def is_device_capability_family(self, capability: int) -> bool:
        return capability // 10 == self._architecture // 10

    def has_device_capability(self, capability: Any) -> bool:
        return _number(capability) <= self._architecture


def _number(capability: Any) -> int:
    return capability if isinstance(capability, int) else 10 * capability[0] + capability[1]


def stand_in_for(package: str) -> None:
    """Lets everything be in a package that need not be installed, and nothing be anything."""
    sys.meta_path.insert(0, _Finder(package))


def load(engine: str, root: Path, architecture: int, more: Iterable[str] = (), device_name: str = "") -> types.ModuleType:
    """Returns the module of the engine's kernel, out of its package in `root`; needs Triton.

    Only that module and those in `more` are the engine's. The rest of the package, and torch where it is not imported yet, is stood in for.
    """
    import triton.language

    name = _module_in(engine, root)
    if name is None:
        raise CannotTell(f"{root} has no {' or '.join(MODULES[engine])}")
    sys.meta_path.insert(0, _Finder(engine, root, {name, *more}))
    if "torch" not in sys.modules:  # It takes seconds, and nothing here is computed.
        stand_in_for("torch")
    sys.modules.setdefault("regex", re)
    platform = _Platform(architecture, device_name)
    if engine == "vllm":
        importlib.import_module("vllm.platforms").current_platform = platform  # type: ignore[attr-defined]
        theirs: Any = importlib.import_module("vllm.triton_utils")
        theirs.tl, theirs.triton, theirs.HAS_TRITON = triton.language, triton, True
        parent = name.rpartition(".")[0]
        importlib.import_module(parent).get_config = lambda: None  # type: ignore[attr-defined]
        utils: Any = importlib.import_module(f"{parent}.utils")
        utils.enable_swap_ab = lambda m, n: m < 64 <= n
        utils.resolve_moe_use_td = lambda: False
    else:
        utils = importlib.import_module("sglang.srt.utils")
        utils.is_cuda = platform.is_cuda
        utils.is_hip = utils.is_cpu = utils.cpu_has_amx_support = platform.is_cpu
        utils.is_sm90_supported = lambda *device: architecture == 90
        utils.get_device_name = lambda *device: device_name
        layers: Any = importlib.import_module("sglang.srt.layers.moe.utils")
        layers.get_moe_padding_size = lambda aiter: 0
        jit: Any = importlib.import_module("sglang.kernels.jit.utils")
        jit.is_arch_support_pdl = lambda: architecture >= 90
        context: Any = importlib.import_module("sglang.srt.runtime_context")
        context.get_exec().deterministic.enable_deterministic_inference = False
        readers: Any = importlib.import_module("sglang.srt.layers.moe.moe_runner.triton_utils")
        readers.get_config = lambda: None
    return importlib.import_module(name)


class _NoGpu:
    """A driver of Triton's that compiles for a GPU that is not there."""

    def __init__(self, architecture: int) -> None:
        self._architecture = architecture
        properties = {
            "max_shared_mem": _SHARED_BYTES.get(architecture, 1 << 30),
            "multiprocessor_count": 1,
            "warpSize": 32,
        }
        self.utils = types.SimpleNamespace(
            load_binary=lambda *binary: (0, 0, 32, 0, 1024), get_device_properties=lambda device: properties
        )

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        return lambda *arguments, **named: None

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._architecture, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: Optional[int] = None) -> int:
        return 0

    def get_active_torch_device(self) -> str:
        return "meta"

    def is_active(self) -> bool:
        return True

    def map_python_to_cpp_type(self, type_name: str) -> str:
        return "int"


def compile_without_gpu(architecture: int) -> None:
    """Lets this process compile for a GPU, into the cache that a process with one reads, and launch nothing."""
    import triton

    triton.runtime.driver.set_active(_NoGpu(architecture))


# Processes that compile.


class _Work(NamedTuple):
    engine: str
    layer: Layer
    architecture: int
    root: str


def _compile_share(work: _Work, launches: List[Launch]) -> List[Optional[str]]:
    """Returns for each launch why it does not compile, or None. A process that ends has found one that does not."""
    reasons: List[Optional[str]] = []
    while len(reasons) < len(launches):
        before = len(reasons)
        rest = [[tokens, dict(gate_up), dict(down)] for tokens, gate_up, down in launches[before:]]
        status, said = _run(json.dumps([work.engine, work.layer, work.architecture, work.root, rest]), reasons)
        if len(reasons) == len(launches):
            break
        if len(reasons) == before and before == 0:
            raise CannotTell(f"the kernel of {work.engine} in {work.root} cannot be loaded: {said or f'status {status}'}")
        reasons.append(f"the compiler ended with status {status}: {said}")
    return reasons


def _run(text: str, reasons: List[Optional[str]]) -> Tuple[int, str]:
    """Adds what a process answers to `reasons`; returns its status and the last line of what else it said."""
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    noise: List[str] = []
    errors = process.stderr
    reader = threading.Thread(target=lambda: noise.extend(errors))
    reader.start()
    process.stdin.write(text)
    process.stdin.close()
    for line in process.stdout:
        if line.startswith("answer "):
            reasons.append(json.loads(line[len("answer ") :]))
    status = process.wait()
    reader.join()
    lines = [line.strip() for line in noise if line.strip()]
    return status, lines[-1] if lines else ""


def _main() -> None:
    # This folder has modules that are called as packages are.
    sys.path[:] = [folder for folder in sys.path if Path(folder or ".").resolve() != Path(__file__).resolve().parent]
    engine, layer, architecture, root, launches = json.load(sys.stdin)
    compile_without_gpu(architecture)
    module = load(engine, Path(root), architecture)
    for launch in launches:
        reason = None
        try:
            compile_here(module, Layer(*layer), Launch(*launch))
        except CannotTell:
            raise
        except Exception as error:  # Whatever Triton makes of it.
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        print("answer " + json.dumps(reason), flush=True)


if __name__ == "__main__":
    _main()
