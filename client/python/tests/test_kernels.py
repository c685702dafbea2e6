"""wavetune.kernels: what it writes, what it refuses, and that the daemon's parser reads it."""

import inspect
import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest
import tables

import wavetune
from wavetune import InvalidArgumentError
from wavetune.kernels import Kernel

BIN = Path(os.environ.get("WAVETUNE_BIN_DIR", tables.ROOT / "build" / "dev" / "bin"))
KERNELS = tables.ROOT / "tests" / "kernels"

needs_wavetune = pytest.mark.skipif(not (BIN / "wavetune").exists(), reason=f"no wavetune in {BIN}: build it first")


def small() -> Kernel:
    """The least that is a kernel."""
    kernel = Kernel("scale_rows")
    kernel.dimension("rows").dimension("columns")
    kernel.parameter("BLOCK_R", [1, 4], default=4)
    kernel.mapping("ceil_div(rows, BLOCK_R)", iterations_per_tile="columns")
    kernel.implementation("opencl", entry="scale_rows", sources="__kernel void scale_rows() {}", block_size=1)
    kernel.arguments("out y[rows, columns] float32")
    kernel.correctness("reference.cl", "// none", entry="reference", work_items="rows", relative_tolerance=1e-5)
    return kernel


def rms_norm() -> Kernel:
    """tests/kernels/rms_norm, written by a program."""
    folder = KERNELS / "rms_norm"
    kernel = Kernel("rms_norm", description="RMSNorm over rows, float32, for OpenCL devices that are CPUs")
    kernel.dimension("rows", max=1048576).dimension("hidden", max=1048576)
    kernel.parameter("BLOCK_R", [1, 2, 4, 8], default=2)
    kernel.parameter("BLOCK_H", [64, 256, 1024], default=256)
    kernel.parameter("VECTOR_WIDTH", [4, 8, 16], default=8)
    kernel.parameter("VECTORS", [1, 4], default=1)
    kernel.mapping("ceil_div(rows, BLOCK_R)", total_iterations="rows * hidden", rows="ceil_div(rows, BLOCK_R)")
    options = ["-cl-std=CL1.2"]
    kernel.implementation(
        "opencl", entry="rms_norm", sources=folder / "rms_norm.cl", block_size=1, compile_options=options
    )
    kernel.arguments(
        "in x[rows, hidden] float32, in w[hidden] float32, out y[rows, hidden] float32",
        "rows int32, hidden int32, epsilon float32 = 0.00001",
    )
    kernel.correctness(
        "reference.cl",
        folder / "reference.cl",
        entry="rms_norm_reference",
        work_items="rows",
        relative_tolerance=1e-5,
        compile_options=options,
    )
    kernel.check_at(rows=[1, 37], hidden=[3, 1000])
    kernel.representative(rows=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1600], hidden=[768, 1536, 3072, 5120])
    kernel.limits(max_elements=16777216)
    return kernel


def check(folder: Path) -> dict:
    """What `wavetune kernels check` says of a folder."""
    found = subprocess.run(
        [BIN / "wavetune", "kernels", "check", "--plan", "--json", folder], capture_output=True, text=True, check=False
    )
    kernel = json.loads(found.stdout)["kernels"][0]
    assert kernel["valid"], kernel["faults"]
    del kernel["path"]
    return kernel


@needs_wavetune
def test_what_it_writes_is_what_a_person_writes(tmp_path):
    assert check(rms_norm().write(tmp_path)) == check(KERNELS / "rms_norm")


def test_copies_sources_beside_the_manifest(tmp_path):
    folder = rms_norm().write(tmp_path)
    assert folder == tmp_path / "rms_norm"
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.textproto", "reference.cl", "rms_norm.cl"]
    source = (KERNELS / "rms_norm" / "rms_norm.cl").read_text()
    assert (folder / "rms_norm.cl").read_text() == source
    assert os.access(folder, os.R_OK | os.X_OK) and not list(tmp_path.glob(".*"))


def test_never_overwrites(tmp_path):
    small().write(tmp_path)
    with pytest.raises(wavetune.AlreadyExistsError, match="exists"):
        small().write(tmp_path)


def test_makes_the_folder_or_says_why_not(tmp_path):
    assert small().write(tmp_path / "my" / "kernels").parent == tmp_path / "my" / "kernels"
    (tmp_path / "file").write_text("")
    with pytest.raises(wavetune.Error, match="cannot be made"):
        small().write(tmp_path / "file")


@needs_wavetune
def test_everything_that_can_be_declared_is_read(tmp_path):
    kernel = Kernel("grouped", description='a "quoted" \\ text', wave_form="WAVE_OVERLAP", portfolio_size=8)
    kernel.dimension("group_rows", repeated=True, max=4096).dimension("n", min=8, max=4096)
    kernel.dimension("k", max=4096)
    kernel.specialisation("plain", GELU=0).specialisation("gelu", wave_form="WAVE_SUM", GELU=1)
    kernel.parameter("BLOCK_M", [4, 16], default=4).parameter("BLOCK_N", [64, 128], default=64)
    kernel.parameter("VECTOR", [4, 8], default=4, role="micro")
    kernel.require("BLOCK_M * BLOCK_N <= 1024 when VECTOR == 4", "n % 4 == 0 or VECTOR != 8 or BLOCK_M == 4")
    kernel.precondition("n % 4 == 0")
    kernel.mapping(
        "sum_over(group_rows, ceil_div(group_rows, BLOCK_M)) * ceil_div(n, BLOCK_N)",
        iterations_per_tile="k",
        rows="ceil_div(group_rows, BLOCK_M)",
    )
    kernel.implementation(
        "opencl", entry="grouped", sources={"grouped.cl": "// x", "tiles.cl": "// y"}, block_size=["VECTOR", 2]
    )
    kernel.arguments("in a[sum_over(group_rows, group_rows), k] float32, in cold b[k, n] float32")
    kernel.arguments("in group_rows[sum_over(group_rows, 1)] int32")
    kernel.arguments("out c[sum_over(group_rows, group_rows), n] float32", "n int32, scale float32 = 0.5")
    kernel.correctness("reference.cl", "// z", entry="r", work_items="n", relative_tolerance=1e-3)
    kernel.representative(group_rows=[8, 0, 3], n=[64, 128], k=64, specialisations=["gelu"], weight=2.5)
    kernel.representative("group_rows = [1, 1], n = k in {64, 128}")
    kernel.serves("moe", tokens="group_rows", gate_up="gelu", down="plain", engines=["vllm"], types=["fp8"])
    checked = check(kernel.write(tmp_path))
    assert checked["specialisations"] == ["plain", "gelu"]
    assert checked["macro_parameters"] == ["BLOCK_M", "BLOCK_N"]
    assert checked["configurations"] == 7


def test_triton_decides_the_threads_of_a_block_itself(tmp_path):
    kernel = small().implementation("triton", entry="scale_rows", sources="# A function.")
    folder = kernel.write(tmp_path)
    assert check(folder)["backends"] == ["opencl", "triton"]
    assert (folder / "scale_rows.py").read_text().strip() == "# A function."


def faults():
    yield "no name for a kernel", lambda: Kernel("Softmax")
    yield "no name for a dimension", lambda: small().dimension("M")
    yield "declared twice", lambda: small().dimension("rows")
    yield "min is 0", lambda: small().dimension("k", min=0)
    yield "max is 3", lambda: small().dimension("k", min=4, max=3)
    yield "only one may be", lambda: small().dimension("a", repeated=True).dimension("b", repeated=True)
    yield "declared twice", lambda: small().parameter("BLOCK_R", [1], default=1)
    yield "has a value twice", lambda: small().parameter("B", [1, 1], default=1)
    yield "none of", lambda: small().parameter("B", [1, 2], default=3)
    yield "a list, each of which is a whole number", lambda: small().parameter("B", [1.5], default=1)
    yield "there are macro, micro", lambda: small().parameter("B", [1], default=1, role="large")
    yield "given twice", lambda: small().mapping("rows")
    yield (
        "did you mean 'total_iterations'",
        lambda: small().specialisation("s", mapping={"tiles": 1, "total_iteration": 1}),
    )
    yield (
        "not both",
        lambda: small().specialisation("s", mapping={"tiles": 1, "total_iterations": 1, "iterations_per_tile": 1}),
    )
    yield "give a whole number", lambda: small().specialisation("s", WIDE=True)
    yield "condition is empty", lambda: small().require(" ")
    yield "no parameter 'BLOCK_Q'; did you mean 'BLOCK_R'", lambda: small().configuration(BLOCK_Q=1)
    yield (
        "there are opencl, cuda, triton, replay",
        lambda: small().implementation("metal", entry="e", sources="s", block_size=1),
    )
    yield "needs a block_size", lambda: small().implementation("cuda", entry="e", sources="s")
    yield "implemented twice", lambda: small().implementation("opencl", entry="e", sources="s", block_size=1)
    yield "one to three", lambda: small().implementation("cuda", entry="e", sources="s", block_size=[1, 1, 1, 1])
    yield "is empty", lambda: small().implementation("cuda", entry="e", sources=" ", block_size=1)
    yield (
        "there is no file",
        lambda: small().implementation("cuda", entry="e", sources=Path("/no/file.cu"), block_size=1),
    )
    yield (
        "no name for a source",
        lambda: small().implementation("cuda", entry="e", sources={"../x.cu": "s"}, block_size=1),
    )
    yield (
        "give a number above 0",
        lambda: Kernel("k").correctness("r.cl", "x", entry="e", work_items=1, relative_tolerance=0),
    )
    yield "no dimension 'row'; did you mean 'rows'", lambda: small().representative(row=1, columns=1)
    yield "no value for columns", lambda: small().representative(rows=1)
    yield "give a text, or a value", lambda: small().representative()
    yield "no specialisation 'fast'", lambda: small().check_at(rows=1, columns=1, specialisations=["fast"])
    yield "give a number above 0", lambda: small().representative(rows=1, columns=1, weight=0)
    yield "at least 1", lambda: small().limits(max_elements=0)
    yield "layers is 'dense'", lambda: small().serves("dense")
    yield "no dimension 'row'; did you mean 'rows'", lambda: small().serves("linear", m="row")
    yield "meaning in linear layers is 'tokens'", lambda: small().serves("linear", tokens="rows")
    yield "attention has variants", lambda: small().serves("attention")
    yield "moe alone has engines", lambda: small().serves("linear", engines=["vllm"])
    yield "field of a variant is 'heads'", lambda: small().serves("attention", variants=[{"heads": 4}])
    yield "head_dim is 'big'", lambda: small().serves("attention", variants=[{"head_dim": "big"}])
    yield "has not a parameter, a mapping", lambda: Kernel("k").dimension("m").manifest()
    # Of the wrong type.
    yield "Kernel: name is 7; give a text", lambda: Kernel(7)
    yield "Kernel: portfolio_size is '8'; give a whole number", lambda: Kernel("k", portfolio_size="8")
    yield "dimension: max is 1.5; give a whole number", lambda: small().dimension("k", max=1.5)
    yield "dimension: repeated is 1; give True or False", lambda: small().dimension("k", repeated=1)
    yield "parameter: values is 16; give a list, each of which is a whole", lambda: small().parameter("B", 16, default=16)
    yield "parameter: default is '16'", lambda: small().parameter("B", [16], default="16")
    yield "require: conditions is 7; give a text", lambda: small().require(7)
    yield "mapping: tiles is 1.5; give a text or a whole number", lambda: Kernel("k").mapping(1.5)
    yield "configuration: BLOCK_R is '4'", lambda: small().configuration(BLOCK_R="4")
    yield (
        "implementation: compile_options is '-O3'; give a list, each of which is a text",
        lambda: small().implementation("cuda", entry="e", sources="s", block_size=1, compile_options="-O3"),
    )
    yield (
        "implementation: sources is .*; give a mapping or a text or a pathlib.Path",
        lambda: small().implementation("cuda", entry="e", sources={"a.cu": 7}, block_size=1),
    )
    yield (
        "correctness: relative_tolerance is 'small'; give a number",
        lambda: Kernel("k").correctness("r.cl", "x", entry="e", work_items=1, relative_tolerance="small"),
    )
    yield "representative: rows is 1.5; give a whole number or a list", lambda: small().representative(rows=1.5, columns=1)
    yield "write: folder is None; give a text or a pathlib.Path", lambda: small().write(None)


@pytest.mark.parametrize("message,call", list(faults()), ids=lambda value: value if isinstance(value, str) else "")
def test_refuses_what_makes_no_sense(message, call):
    with pytest.raises(InvalidArgumentError, match=message):
        call()


def test_arguments_that_are_missing_are_named_as_ever():
    with pytest.raises(TypeError, match=r"implementation\(\) missing .*'entry'"):
        small().implementation("cuda", sources="s")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        small().dimension("k", colour=1)
    assert "max" in inspect.signature(Kernel.dimension).parameters


def test_what_counts_as_a_number_or_a_list_is_taken():
    kernel = small().dimension("k", max=numpy.int64(8)).parameter("B", (value for value in (1, 2)), default=1)
    assert "k <= 8" in kernel.manifest()


def test_a_fault_changes_nothing():
    kernel = small()
    before = kernel.manifest()
    with pytest.raises(InvalidArgumentError):
        kernel.implementation("cuda", entry="e", sources={"a.cu": "s", "../b.cu": "s"}, block_size=1)
    assert kernel.manifest() == before
