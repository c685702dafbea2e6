"""The three kernels of kernels/triton_*, and what each launch of them is given: one place for running and compiling.

`Call` is a launch with a configuration: the function, its arguments in order, its grid. For compiling ahead of time the
tensors are dtypes.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Sequence

from models import Launch
from spaces import CONSTANTS

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
KERNELS = Path(__file__).resolve().parents[2] / "kernels"
ENTRIES = {
    "triton_gemm": "gemm_kernel",
    "triton_fused_moe": "fused_moe_kernel",
    "triton_attention": "attention_kernel",
}


def load(kernel: str, folder: Path = KERNELS) -> Any:
    """Returns the @triton.jit function of a kernel's folder. Errors: OSError without its file."""
    path = folder / kernel / f"{kernel}.py"
    if kernel not in sys.modules:
        specification = importlib.util.spec_from_file_location(kernel, path)
        if specification is None or specification.loader is None or not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        module = importlib.util.module_from_spec(specification)
        sys.modules[kernel] = module
        specification.loader.exec_module(module)
    return getattr(sys.modules[kernel], ENTRIES[kernel])


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Call:
    function: Any
    args: tuple[Any, ...]
    grid: tuple[int]
    keywords: dict[str, Any]

    def launch(self) -> None:
        self.function[self.grid](*self.args, **self.keywords)

    def compile(self) -> Any:
        return self.function.warmup(*self.args, grid=(1,), **self.keywords)

    def compiled_as(self) -> tuple[Any, ...]:
        """Equal for calls that Triton compiles to one kernel: whole numbers count as 1, multiples of 16, others."""
        classes = tuple(
            ("1" if value == 1 else "16" if value % 16 == 0 else "n") if isinstance(value, int) else str(value)
            for value in self.args
        )
        return (self.function.__name__, classes, tuple(sorted(self.keywords.items())))


def padded_blocks(slots: Sequence[int], block: int) -> int:
    """Blocks of rows that a MoE layer launches: each expert has whole ones."""
    return sum(ceil_div(own, block) for own in slots)


def gemm(launch: Launch, configuration: Mapping[str, int], a: Any, b: Any, c: Any, partials: Any, arrivals: Any) -> Call:
    own = {"SPLIT_K": 1, "GROUP_M": 8, **configuration}
    p = launch.problem
    tiles = ceil_div(p["m"], own["BLOCK_M"]) * ceil_div(p["n"], own["BLOCK_N"])
    args = (a, b, c, partials, arrivals, p["m"], p["n"], p["k"])
    return Call(load("triton_gemm"), args, (tiles * own["SPLIT_K"],), own)


def partial_elements(launch: Launch, configuration: Mapping[str, int]) -> int:
    """Elements that a launch's `partials` needs."""
    p = launch.problem
    splits = configuration.get("SPLIT_K", 1) if launch.kernel == "triton_gemm" else configuration.get("SPLIT_KV", 1)
    if splits == 1:
        return 0
    if launch.kernel == "triton_gemm":
        return splits * p["m"] * p["n"]
    head_dim = CONSTANTS[launch.specialisation]["HEAD_DIM"]
    return p["batch"] * p["heads"] * p["seq_q"] * splits * head_dim


def moe(
    launch: Launch,
    configuration: Mapping[str, int],
    a: Any,
    b: Any,
    c: Any,
    weights: Any,
    routing: tuple[Any, Any, Any],
) -> Call:
    """routing: sorted_token_ids, expert_ids and num_tokens_post_padded for the configuration's BLOCK_SIZE_M."""
    own = {"GROUP_SIZE_M": 1, **configuration}
    p = launch.problem
    blocks = padded_blocks(p["tokens"], own["BLOCK_SIZE_M"])
    args = (a, b, c, weights, *routing, p["n"], p["k"], blocks, sum(p["tokens"]), p["top_k"])
    grid = (blocks * ceil_div(p["n"], own["BLOCK_SIZE_N"]),)
    return Call(load("triton_fused_moe"), args, grid, {**own, **CONSTANTS[launch.specialisation]})


def attention(
    launch: Launch,
    configuration: Mapping[str, int],
    q: Any,
    keys: Any,
    values: Any,
    out: Any,
    partials: Any,
    logarithms: Any,
    arrivals: Any,
) -> Call:
    own = {"SPLIT_KV": 1, **configuration}
    p = launch.problem
    constants = CONSTANTS[launch.specialisation]
    if constants["DECODE"]:
        blocks = p["batch"] * p["kv_heads"] * own["SPLIT_KV"]
    else:
        blocks = p["batch"] * p["heads"] * ceil_div(p["seq_q"], own["BLOCK_Q"])
    sizes = (p["heads"], p["kv_heads"], p["seq_q"], p["seq_kv"])
    args = (q, keys, values, out, partials, logarithms, arrivals, *sizes)
    return Call(load("triton_attention"), args, (blocks,), {**own, **constants})


def ahead(launch: Launch, configuration: Mapping[str, int], dtypes: Any) -> Call:
    """The launch with dtypes in place of tensors: dtypes.bf16, dtypes.fp32, dtypes.int32."""
    bf16, fp32, int32 = dtypes.bf16, dtypes.fp32, dtypes.int32
    if launch.kernel == "triton_gemm":
        return gemm(launch, configuration, bf16, bf16, bf16, fp32, int32)
    if launch.kernel == "triton_fused_moe":
        return moe(launch, configuration, bf16, bf16, bf16, fp32, (int32, int32, int32))
    return attention(launch, configuration, bf16, bf16, bf16, bf16, fp32, fp32, int32)
