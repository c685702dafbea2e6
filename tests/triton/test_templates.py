"""The Triton templates of `wavetune kernels new` in Triton's interpreter against numpy, and what
`--from` reads of a function."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from launch import ROOT, Buffer, from_bf16, launch, load, relative_error, to_bf16

TOLERANCE = 4e-3  # The manifests', of results that are rounded to bf16.


def template(name: str):
    return getattr(load(name, "tests/kernels"), name)


def random_bf16(*shape: int) -> np.ndarray:
    return to_bf16(np.random.default_rng(sum(shape)).uniform(-1, 1, shape))


def blocks(extent: int, tile: int) -> int:
    return -(-extent // tile)


@pytest.mark.parametrize("rows, columns", [(1, 3), (13, 1030), (5, 300)])
def test_gelu(rows: int, columns: int) -> None:
    x, bias = random_bf16(rows, columns), random_bf16(columns)
    y = Buffer.poison((rows, columns), "bf16")
    launch(
        template("gpu_gelu"),
        blocks(rows, 4) * blocks(columns, 256),
        [Buffer(x, "bf16"), Buffer(bias, "bf16"), y, rows, columns],
        {"BLOCK_R": 4, "BLOCK_C": 256},
    )
    v = from_bf16(x) + from_bf16(bias)
    expected = 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3)))
    assert relative_error(from_bf16(y.array()), expected) < TOLERANCE


@pytest.mark.parametrize("rows, hidden", [(1, 3), (37, 1000), (5, 256)])
def test_rms_norm(rows: int, hidden: int) -> None:
    x, w = random_bf16(rows, hidden), random_bf16(hidden)
    y = Buffer.poison((rows, hidden), "bf16")
    launch(
        template("gpu_rms_norm"),
        blocks(rows, 2),
        [Buffer(x, "bf16"), Buffer(w, "bf16"), y, rows, hidden, 1e-5],
        {"BLOCK_R": 2, "BLOCK_H": 256},
    )
    v = from_bf16(x)
    expected = v * from_bf16(w) / np.sqrt((v * v).mean(axis=1, keepdims=True) + 1e-5)
    assert relative_error(from_bf16(y.array()), expected) < TOLERANCE


@pytest.mark.parametrize("m, n, k", [(1, 100, 48), (33, 80, 16), (65, 203, 80)])
def test_gemm(m: int, n: int, k: int) -> None:
    a, b = random_bf16(m, k), random_bf16(n, k)
    c = Buffer.poison((m, n), "bf16")
    launch(
        template("gpu_gemm"),
        blocks(m, 32) * blocks(n, 64),
        [Buffer(a, "bf16"), Buffer(b, "bf16"), c, m, n, k],
        {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32},
    )
    assert relative_error(from_bf16(c.array()), from_bf16(a) @ from_bf16(b).T) < TOLERANCE


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("seq_q, seq_kv", [(37, 70), (9, 5), (1, 100)])
def test_attention(seq_q: int, seq_kv: int, causal: int) -> None:
    batch, heads, kv_heads, depth = 2, 4, 2, 16
    q = random_bf16(batch, heads, seq_q, depth)
    keys = random_bf16(batch, kv_heads, seq_kv, depth)
    values = random_bf16(batch, kv_heads, 1, seq_kv, depth)[:, :, 0]
    out = Buffer.poison(q.shape, "bf16")
    launch(
        template("gpu_attention"),
        batch * heads * blocks(seq_q, 16),
        [*(Buffer(one, "bf16") for one in (q, keys, values)), out, heads, kv_heads, seq_q, seq_kv],
        {"CAUSAL": causal, "HEAD_DIM": depth, "BLOCK_Q": 16, "BLOCK_KV": 32},
    )
    k, v = (np.repeat(from_bf16(one), heads // kv_heads, axis=1) for one in (keys, values))
    scores = from_bf16(q) @ k.swapaxes(2, 3) / np.sqrt(depth)
    seen = np.clip(np.arange(seq_q) + 1 + seq_kv - seq_q, 1, seq_kv) if causal else seq_kv
    unseen = np.arange(seq_kv)[None, :] >= np.broadcast_to(seen, seq_q)[:, None]
    weights = np.where(unseen, 0, np.exp(scores - scores.max(axis=3, keepdims=True)))
    expected = weights @ v / weights.sum(axis=3, keepdims=True)
    assert relative_error(from_bf16(out.array()), expected) < 5e-3


@pytest.mark.parametrize("rows", [[0, 5, 0, 17, 1, 0], [1], [33, 0, 3]])
def test_grouped_gemm(rows: list[int]) -> None:
    n, k = 67, 48
    a, b = random_bf16(sum(rows), k), random_bf16(len(rows), n, k)
    c = Buffer.poison((sum(rows), n), "bf16")
    tiles = sum(blocks(own, 16) for own in rows)
    group_rows = Buffer(np.array(rows, np.int32), "i32")
    launch(
        template("gpu_grouped_gemm"),
        tiles * blocks(n, 64),
        [Buffer(a, "bf16"), Buffer(b, "bf16"), group_rows, c, len(rows), tiles, n, k],
        {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32},
    )
    expert = np.repeat(np.arange(len(rows)), rows)
    expected = np.einsum("rk,rnk->rn", from_bf16(a), from_bf16(b)[expert])
    assert relative_error(from_bf16(c.array()), expected) < TOLERANCE


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel_h, kernel_w", [(3, 2), (1, 1)])
def test_conv2d(stride: int, kernel_h: int, kernel_w: int) -> None:
    batch, channels, filters, out_h, out_w = 2, 5, 19, 7, 5
    x = random_bf16(
        batch, channels, (out_h - 1) * stride + kernel_h, (out_w - 1) * stride + kernel_w
    )
    w = random_bf16(filters, channels, kernel_h, kernel_w)
    y = Buffer.poison((batch, filters, out_h, out_w), "bf16")
    extents = [batch, channels, filters, out_h, out_w, kernel_h, kernel_w]
    launch(
        template("gpu_conv2d"),
        blocks(batch * out_h * out_w, 32) * blocks(filters, 16),
        [Buffer(x, "bf16"), Buffer(w, "bf16"), y, *extents],
        {"STRIDE": stride, "BLOCK_P": 32, "BLOCK_F": 16, "BLOCK_K": 16},
    )
    patches = np.lib.stride_tricks.sliding_window_view(from_bf16(x), (kernel_h, kernel_w), (2, 3))
    expected = np.einsum("bchwij,fcij->bfhw", patches[:, :, ::stride, ::stride], from_bf16(w))
    assert relative_error(from_bf16(y.array()), expected) < TOLERANCE


FUNCTION = """
import triton
import triton.language as tl

try:
    import absent
except ImportError:
    absent = None
from helper import twice

BIG = tl.constexpr(7)
# No part of the kernel.
OTHER = 8


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK": 128}, num_warps=8, num_stages=2),
    ],
    key=["N"],
)
@triton.heuristics({"EVEN": lambda arguments: arguments["N"] % arguments["BLOCK"] == 0})
@triton.jit(do_not_specialize=["N"])
def scale(x_ptr, y, sums, N, stride, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = x_ptr + at * stride
    places += BIG
    v = tl.load(places, mask=at < N)
    tl.atomic_add(sums + at, v)
    tl.store(y + at, own(v) * factor, mask=at < N)


@triton.jit
def own(v):
    return twice(v)
"""
HELPER = "import triton\n\n\n@triton.jit\ndef twice(v):\n    return v + v\n"


def read(folder: Path, place: str) -> subprocess.CompletedProcess[str]:
    script = (ROOT / "cli/commands/read_triton.py").read_text()
    return subprocess.run(
        [sys.executable, "-c", script, place, "mine", str(folder / "files.json")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_functions_signature_and_configurations_become_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(FUNCTION)
    (tmp_path / "helper.py").write_text(HELPER)
    for place in ("module:scale", f"{tmp_path}/module.py:scale"):
        done = read(tmp_path, place)
        assert done.returncode == 0, done.stderr
        files = json.loads((tmp_path / "files.json").read_text())
        manifest = files["manifest.textproto"]
        for line in (
            'dimensions: "n <= 1048576"',
            'parameters: "BLOCK in {64, 128} default 64"',
            'parameters: "num_warps in {4, 8} default 4"',
            # Not all combinations: rows.
            'configurations: "BLOCK = 128, num_warps = 8, num_stages = 2, EVEN = TODO"',
            # What heuristics compute is for the author.
            'parameters: "EVEN in {TODO} default TODO"',
            'arguments: "in x_ptr[TODO] TODO"',
            'arguments: "out y[TODO] TODO"',
            'arguments: "inout sums[TODO] TODO"',
            'arguments: "N int32 = n"',
            'arguments: "stride int32 = TODO"',
            'arguments: "factor TODO = TODO"',
            '  sources: "helper.py"',
            '  entry: "scale"',
        ):
            assert line in manifest.splitlines(), line
        # What the function needs, and no more.
        source = files["mine.py"]
        assert '@triton.jit(do_not_specialize=["N"])\ndef scale(' in source
        assert "BIG = tl.constexpr(7)" in source and "def own(v)" in source
        for other in ("absent", "OTHER", "autotune", "heuristics"):
            assert other not in source
        assert files["helper.py"] == HELPER
        assert files["shapes.csv"] == "layer,n\n"
        assert "mine_reference(const float* x_ptr, float* y" in files["reference.cu"]


def test_all_combinations_need_no_rows(tmp_path: Path) -> None:
    configurations = "[triton.Config({'BLOCK': b}, num_warps=w) for b in (64, 128) for w in (4, 8)]"
    begin, end = FUNCTION.index("configs=["), FUNCTION.index("key=")
    text = FUNCTION[:begin] + f"configs={configurations},\n    " + FUNCTION[end:]
    (tmp_path / "module.py").write_text(text)
    (tmp_path / "helper.py").write_text(HELPER)
    assert read(tmp_path, "module:scale").returncode == 0
    manifest = json.loads((tmp_path / "files.json").read_text())["manifest.textproto"]
    assert 'parameters: "num_warps in {4, 8} default 4"' in manifest
    assert "configurations:" not in manifest


@pytest.mark.parametrize(
    "text, place, said",
    [
        ("import absent\n", "module:scale", "needs the module 'absent'"),
        ("import triton\n", "module:scale", "module has no 'scale'"),
        ("scale = 1\n", "module:scale", "no @triton.jit function"),
        ("raise SystemExit(3)\n", "module:scale", "importing module failed: SystemExit: 3"),
        ("", "module", "give MODULE:FUNCTION"),
        ("", "none.py:scale", "there is no file"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, text: str, place: str, said: str) -> None:
    (tmp_path / "module.py").write_text(text)
    done = read(tmp_path, place)
    assert done.returncode == 2
    assert said in done.stderr and "Traceback" not in done.stderr


def test_the_working_folder_is_not_pythons_own(tmp_path: Path) -> None:
    for name in ("copy", "json", "inspect"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not that one')\n")
    kernel = "import triton\n\n\n@triton.jit\ndef k(x):\n    return x\n"
    for name in ("good", "select", "triton"):
        (tmp_path / f"{name}.py").write_text(kernel)
        done = read(tmp_path, f"{name}.py:k")
        assert done.returncode == 0, done.stderr
        assert json.loads((tmp_path / "files.json").read_text())["mine.py"] == kernel
        (tmp_path / f"{name}.py").unlink()


ORDERED = """
import triton
import triton.language as tl
from helper import *


def log2e():
    return 1.5


LOG2E = tl.constexpr(log2e())
BLOCKS = 4; BLOCKS = BLOCKS * 2
if BLOCKS == 8:

    @triton.jit
    def inner(v):
        return v + BLOCKS * LOG2E


@triton.jit
def k(x):
    return inner(twice(x))
"""


def test_the_source_can_be_imported_or_says_why_not(tmp_path: Path) -> None:
    helper = "import common\nif True:\n    import json as torch\n" + HELPER
    (tmp_path / "module.py").write_text(ORDERED)
    (tmp_path / "helper.py").write_text(helper)
    (tmp_path / "common.py").write_text("import numpy\n\n\ndef host():\n    import absent\n")
    done = read(tmp_path, "module.py:k")
    assert done.returncode == 0, done.stderr
    files = json.loads((tmp_path / "files.json").read_text())
    assert files["helper.py"] == helper and "common.py" in files
    # Only numpy, and not what a function would import.
    assert done.stderr.count("\n") == 1 and "common.py imports numpy; " in done.stderr
    assert "# TODO: common.py imports numpy; " in files["manifest.textproto"]
    folder = tmp_path / "kernel"
    folder.mkdir()
    for name in ("mine.py", "helper.py", "common.py"):
        (folder / name).write_text(files[name])
    program = "import mine; print(mine.BLOCKS, mine.LOG2E.value)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout == "8 1.5\n", done.stderr
