"""wavetune.engine_kernel: asks an engine's own kernel what it compiles, out of packages that are written here.

Needs Triton, and no GPU; scripts/soak.sh engines asks the kernels of vLLM's and SGLang's wheels.
"""

import importlib.util
import sys
import textwrap
import types

import pytest

from wavetune import engine_kernel

LAYER = engine_kernel.Layer(experts=8, intermediate=64, hidden=128, top_k=2)
RULE = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1, "num_warps": 4, "num_stages": 3}


def launch(tokens, **changes):
    return engine_kernel.Launch(tokens, {**RULE, **changes}, {**RULE, **changes})


needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")

# A kernel that copies, does not compile for row tiles of 64, ends the compiler's process for those of 128, and needs too much shared
# memory for those of 256.
KERNEL = """
import os

import torch
%(triton)s


@triton.jit
def fused_moe_kernel(
    a, b, c, ids, n, stride, BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, MUL: tl.constexpr, top_k: tl.constexpr, compute_type: tl.constexpr,
):
    tl.static_assert(BLOCK_SIZE_M != 64, "rows")
    rows = tl.arange(0, BLOCK_SIZE_M)
    depth = tl.arange(0, BLOCK_SIZE_K)
    columns = tl.arange(0, BLOCK_SIZE_N)
    sums = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(n):
        x = tl.load(a + rows[:, None] * stride + depth[None, :] + step * BLOCK_SIZE_K)
        y = tl.load(b + columns[None, :] * stride + depth[:, None] + step * BLOCK_SIZE_K)
        sums = tl.dot(x, y, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(compute_type))


def %(launch)s(
    A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, A_scale: torch.Tensor | None, topk_weights, sorted_token_ids, expert_ids,
    mul_routed_weight, top_k, config, compute_type, %(more)suse_fp8_w8a8, per_channel_quant, block_shape=None, filter_expert=True,
):
    assert A_scale is None and not use_fp8_w8a8 and C.stride(-1) == 1 and A.size(1) == B.size(2)
    assert top_k == (1 if mul_routed_weight else 2)
    if config["BLOCK_SIZE_M"] == 128:
        print("the compiler's last words", flush=True)
        os.abort()
    grid = lambda META: (A.size(0),)
    fused_moe_kernel[grid](
        A, B, C, expert_ids, B.size(1), A.stride(0), MUL=mul_routed_weight, top_k=top_k, compute_type=compute_type, **config
    )
"""


def package(root, engine, more="", broken=""):
    """Writes the engine's package, with a kernel and nothing else."""
    name = engine_kernel.MODULES[engine][0]
    file = root.joinpath(*name.split(".")).with_suffix(".py")
    file.parent.mkdir(parents=True)
    for folder in list(file.parents)[: len(name.split(".")) - 1]:
        (folder / "__init__.py").write_text("raise ImportError('the engine is not imported')\n")
    theirs = "from vllm.triton_utils import tl, triton" if engine == "vllm" else "import triton\nimport triton.language as tl"
    launch = "invoke_fused_moe_triton_kernel" if engine == "vllm" else "invoke_fused_moe_kernel"
    file.write_text(broken or textwrap.dedent(KERNEL) % {"triton": theirs, "launch": launch, "more": more})
    return root


@pytest.fixture(autouse=True)
def no_others(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    for name in [name for name in sys.modules if name.split(".")[0] in ("vllm", "sglang")]:
        monkeypatch.delitem(sys.modules, name)  # Other tests' packages.


@needs_triton
@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_what_the_engines_kernel_does_not_compile_is_told_from_the_rest(tmp_path, engine):
    rows = ((1, 16), (700, 32), (700, 64), (700, 128), (9, 32))
    launches = [launch(tokens, BLOCK_SIZE_M=own) for tokens, own in rows]
    launches.append(launch(700, BLOCK_SIZE_M=256, BLOCK_SIZE_K=256, num_stages=4))
    # Of one product alone.
    launches.append(launch(700)._replace(down={**RULE, "BLOCK_SIZE_M": 64}))
    found = engine_kernel.uncompiled(engine, LAYER, launches, launch(700), 90, package(tmp_path, engine))
    assert sorted(found) == [2, 3, 5, 6]
    assert found[2].startswith("CompileTimeAssertionFailure")
    assert "ended with status" in found[3]
    assert "shared memory" in found[5]


@needs_triton
def test_the_installed_package_is_asked_without_being_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(package(tmp_path, "vllm")))
    # Nothing of it can be imported.
    assert engine_kernel.root_of("vllm") == tmp_path
    assert engine_kernel.uncompiled("vllm", LAYER, [launch(8)], launch(8), 90) == {}
    assert "vllm" not in sys.modules


@needs_triton
@pytest.mark.parametrize(
    "more, broken, control, said",
    [
        ("", "", 64, "does not compile what the engine uses by itself"),
        ("something_new, ", "", 16, "takes something_new, too"),
        ("", "import nothing_of_that_name", 16, "nothing_of_that_name"),
        ("", "fused_moe_kernel = 1", 16, "no fused_moe_kernel with a launch that is known"),
    ],
)
def test_where_nobody_can_tell_it_is_said_why(tmp_path, more, broken, control, said):
    root = package(tmp_path, "vllm", more, broken)
    with pytest.raises(engine_kernel.CannotTell, match=said):
        engine_kernel.uncompiled("vllm", LAYER, [launch(8)], launch(8, BLOCK_SIZE_M=control), 90, root)


@needs_triton
def test_a_running_engine_compiles_with_its_own_module_which_stays_as_it_is():
    import triton
    import triton.language

    class Kernel:
        def __init__(self):
            self.compiled = []

        def warmup(self, *arguments, grid, **named):
            self.compiled.append(named["MUL"])
            return types.SimpleNamespace(metadata=types.SimpleNamespace(shared=0))

    kernel = Kernel()
    module = types.ModuleType("vllm.model_executor.layers.fused_moe.fused_moe")
    source = KERNEL % {"triton": "", "launch": "invoke_fused_moe_triton_kernel", "more": ""}
    module.__dict__.update(torch=types.SimpleNamespace(Tensor=int), os=__import__("os"))
    exec(source[source.index("def invoke") :], module.__dict__)
    module.fused_moe_kernel = kernel
    before = triton.runtime.driver.active if triton.runtime.driver._active else None
    engine_kernel.compile_without_gpu(90)
    try:
        engine_kernel.compile_here(module, LAYER, launch(8))
    finally:
        triton.runtime.driver.set_active(before)
    assert kernel.compiled == [False, True]
    assert module.fused_moe_kernel is kernel


@needs_triton
def test_tma_is_asked_for_as_sglang_does():
    """down reads rows that gate_up then stores in sorted order; the configuration has no word of it."""
    asked = []
    source = """
def invoke_fused_moe_kernel(A, B, C, mul_routed_weight, config, a_use_tma, b_use_tma, c_sorted):
    assert B.dtype.itemsize == 2 and A.dtype == "torch.bfloat16"
    asked.append((mul_routed_weight, a_use_tma, b_use_tma, c_sorted, "USE_TMA" in config))
"""
    module = types.ModuleType("sglang.kernels.ops.moe.fused_moe_triton_kernels")
    exec(source, module.__dict__)
    module.asked, module.fused_moe_kernel = asked, types.SimpleNamespace(warmup=None)
    with_tma = {**RULE, "USE_TMA": True}
    engine_kernel.compile_here(module, LAYER, engine_kernel.Launch(700, with_tma, RULE))
    assert asked == [(False, False, True, False, False), (True, False, False, False, False)]
    asked.clear()
    engine_kernel.compile_here(module, LAYER, engine_kernel.Launch(700, RULE, with_tma))
    assert asked == [(False, False, False, True, False), (True, True, True, False, False)]


def test_the_package_that_a_folder_is_in_comes_first(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(package(tmp_path / "installed", "vllm")))
    folder = package(tmp_path / "named", "vllm").joinpath("vllm", "model_executor", "layers", "fused_moe", "configs")
    assert engine_kernel.root_of("vllm", folder) == tmp_path / "named"
    assert engine_kernel.root_of("vllm", tmp_path / "vllm" / "configs") == tmp_path / "installed"


def test_an_engine_that_is_not_installed_says_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(engine_kernel.CannotTell, match="vllm is not installed"):
        engine_kernel.uncompiled("vllm", LAYER, [launch(8)], launch(8), 90)
