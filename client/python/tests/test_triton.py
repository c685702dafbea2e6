"""wavetune.triton on a driver without a GPU: what is decided, compiled and launched, and what happens where nothing fits.

Where triton is not installed the file is skipped.
"""

import functools
import json
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest
import tables

import wavetune

triton = pytest.importorskip("triton", minversion="3.6", reason="triton 3.6 or newer is not installed")

import triton_kernels  # noqa: E402
import triton.language as tl  # noqa: E402
import triton_stub  # noqa: E402
from triton.runtime import driver  # noqa: E402

from wavetune import triton_arguments, triton_decider  # noqa: E402
from wavetune.triton import attach, balanced, tuned  # noqa: E402
from wavetune.triton_arguments import LaunchKinds  # noqa: E402
from wavetune.triton_problem import reader_of  # noqa: E402

H100 = "backend=cuda;arch=sm_90a;mp=132"
DIMS = {"M": "m", "N": "n", "K": "k"}
PARAMETERS = {"STAGES": "num_stages"}
DEFAULT = {"BLOCK_A": 16, "BLOCK_B": 16, "BLOCK_C": 16, "VECTOR": 1, "num_warps": 2, "num_stages": 2}


@pytest.fixture(autouse=True)
def gpu(monkeypatch, tmp_path_factory):
    """Returns the driver that writes launches down."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))
    stub = triton_stub.StubDriver()
    driver.set_active(stub)
    return stub


def offline(tmp_path, silicon=H100, compiler=""):
    cache = tmp_path / "cache"
    tables.add_variant_to_cache(cache, "gemm", silicon=silicon, compiler=compiler)
    return wavetune.connect(f"unix:{tmp_path}/nobody.sock", mode="offline", cache_dir=cache)


@pytest.fixture
def client(tmp_path):
    return offline(tmp_path)


@pytest.fixture
def tensors():
    return triton_stub.Array(), triton_stub.Array()


def tuning_kernel(**options):
    return triton.autotune(configs=triton_kernels.CONFIGS, key=["M", "N", "K"], **options)(
        triton.jit(triton_kernels.body)
    )


def attached(kernel, client, **options):
    handle = attach(
        kernel, **{"tuned": tables.KERNEL, "dims": DIMS, "parameters": PARAMETERS, "client": client, **options}
    )
    assert handle is not None
    return handle


def own_kernel(client, **options):
    given = {"dims": DIMS, "parameters": PARAMETERS, "client": client, "default": DEFAULT, **options}
    return tuned(given.pop("tuned", tables.KERNEL), **given)(triton.jit(triton_kernels.body))


def test_an_own_kernel_is_called_as_its_function_is(client):
    def documented(x, y, M, N, K, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):
        """Adds."""

    function = triton.jit(documented)
    kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(function)
    assert (kernel.__name__, kernel.__doc__, kernel.__module__) == ("documented", "Adds.", __name__)
    assert kernel.__wrapped__ is kernel.fn is function
    assert repr(kernel) == f"<wavetune.triton.TunedKernel of {function!r}>"


def launched(launch):
    """The values of a launch in the order of the golden tables' parameters."""
    constants = launch.constants
    return [
        constants["BLOCK_A"],
        constants["BLOCK_B"],
        constants["BLOCK_C"],
        launch.num_stages,
        constants["VECTOR"],
    ]


def decided_problems(count):
    """Problems of the golden file that its table decides, with the configuration that C++ decides."""
    rows = [
        (problem, [int(value) for value in row["configuration"].split()])
        for problem, row in tables.golden_decisions("gemm")
        if row["source"] != "DEFAULT"
    ]
    return rows[:: max(1, len(rows) // count)][:count]


# Somebody else's kernel.


def test_an_attached_kernel_is_launched_with_what_cpp_decides(client, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, client)
    problems = decided_problems(8)
    assert len({tuple(values) for _, values in problems}) > 1
    for problem, expected in problems:
        kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
        assert launched(gpu.launches[-1]) == expected
    assert gpu.benchmarks == 0


def test_arguments_may_be_given_by_name(client, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, client)
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](x=tensors[0], y=tensors[1], M=problem["m"], N=problem["n"], K=problem["k"])
    assert launched(gpu.launches[-1]) == expected


def test_arguments_that_are_called_as_the_dimensions_need_no_dims(client, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, client, dims=None)
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected


def test_dims_may_be_computed_and_may_leave_a_launch_to_the_engine(client, gpu, tensors):
    kernel = tuning_kernel()
    (problem, expected), *_ = decided_problems(1)
    seen = []

    def dims(arguments):
        seen.append(sorted(arguments))
        return None if arguments["M"] == 9999 else problem

    attached(kernel, client, dims=dims)
    kernel[(4,)](*tensors, 1, 2, K=3)
    assert launched(gpu.launches[-1]) == expected
    assert seen[-1] == ["K", "M", "N", "x", "y"]
    kernel[(4,)](*tensors, 9999, 2, 3)
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)


def test_the_grid_sees_the_decided_configuration(client, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, client)
    (problem, expected), *_ = decided_problems(1)
    kernel[lambda meta: (meta["BLOCK_A"], meta["BLOCK_B"])](*tensors, problem["m"], problem["n"], problem["k"])
    assert gpu.launches[-1].grid == (expected[0], expected[1], 1)


def test_heuristics_around_and_inside_of_an_autotuner_are_no_matter(client, gpu, tensors):
    (problem, expected), *_ = decided_problems(1)
    around = triton.heuristics({"K": lambda arguments: problem["k"]})(tuning_kernel())
    attached(around, client, dims=lambda arguments: {**problem, "k": arguments["K"]})
    around[(4,)](*tensors, problem["m"], problem["n"])
    assert launched(gpu.launches[-1]) == expected
    inside = triton.autotune(configs=triton_kernels.CONFIGS, key=["M", "N", "K"])(
        triton.heuristics({"K": lambda arguments: 5})(triton.jit(triton_kernels.body))
    )
    attached(inside, client, dims=lambda arguments: problem)
    inside[(4,)](*tensors, problem["m"], problem["n"])
    assert launched(gpu.launches[-1]) == expected


def test_the_engines_hook_runs_with_the_decided_configuration(client, gpu, tensors):
    seen = []
    hook = seen.append
    configs = [triton.Config(config.kwargs, num_warps=2, pre_hook=hook) for config in triton_kernels.CONFIGS]
    kernel = triton.autotune(configs=configs, key=["M", "N", "K"])(triton.jit(triton_kernels.body))
    attached(kernel, client)
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert seen[-1]["BLOCK_A"] == expected[0] and seen[-1]["M"] == problem["m"]


def test_a_kernel_with_one_configuration_can_be_attached_too(client, gpu, tensors):
    kernel = triton.autotune(configs=triton_kernels.CONFIGS[:1], key=[])(triton.jit(triton_kernels.body))
    attached(kernel, client)
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected
    assert kernel.best_config.kwargs["BLOCK_A"] == expected[0]


def test_what_the_table_does_not_decide_is_what_all_configurations_agree_on(client, gpu, tensors):
    configs = [triton.Config({**config.kwargs, "K": 7}) for config in triton_kernels.CONFIGS]
    kernel = triton.autotune(configs=configs, key=["M", "N"])(triton.jit(triton_kernels.body))
    (problem, expected), *_ = decided_problems(1)
    attached(kernel, client, dims=lambda arguments: problem)
    kernel[(4,)](*tensors, 1, 2)
    assert launched(gpu.launches[-1]) == expected


@pytest.mark.parametrize("limit, options", [(0, {}), (128, {"maxnreg": 128})])
def test_no_limit_of_registers_is_no_option_of_triton(limit, options):
    decider = triton_decider.Decider("kernel", ["BLOCK"], triton_decider.Options("kernel"))
    assert decider._choice({"BLOCK": 64, "maxnreg": limit}).keywords == {"BLOCK": 64, **options}


def test_a_detached_kernel_tunes_itself_again(client, gpu, tensors):
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    handle.detach()
    handle.detach()
    kernel[(4,)](*tensors, 64, 64, 64)
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)


def test_attaching_twice_is_said_and_the_second_counts(client, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, client)
    with pytest.warns(wavetune.FallbackWarning, match="attached to body already"):
        second = attached(kernel, client)
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected
    second.detach()
    kernel[(4,)](*tensors, 64, 64, 64)
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)


# One's own kernel.


def test_a_tuned_kernel_is_launched_with_what_cpp_decides(client, gpu, tensors):
    kernel = own_kernel(client)
    for problem, expected in decided_problems(8):
        kernel[lambda meta: (meta["BLOCK_A"],)](*tensors, problem["m"], problem["n"], problem["k"])
        assert launched(gpu.launches[-1]) == expected
        assert gpu.launches[-1].grid == (expected[0], 1, 1)


def test_a_problem_that_the_table_does_not_decide_gets_the_declared_default(client, gpu, tensors):
    kernel = own_kernel(client)
    kernel[(4,)](*tensors, 1 << 40, 2, 3)
    assert launched(gpu.launches[-1]) == [16, 16, 16, 2, 1]
    assert kernel.reason is None


def test_the_decision_behind_a_launch_can_be_asked_for(client, tensors):
    kernel = own_kernel(client)
    (problem, expected), *_ = decided_problems(1)
    decision = kernel.decision(*tensors, problem["m"], problem["n"], problem["k"])
    assert list(decision.configuration.values()) == expected


def test_a_tuner_may_be_given_in_place_of_a_name(client, gpu, tensors):
    kernel = own_kernel(None, tuned=client.tuner(tables.KERNEL))
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected


def test_a_parameter_that_is_given_and_decided_is_an_error_that_says_so(client, tensors):
    kernel = own_kernel(client)
    with pytest.raises(wavetune.InvalidArgumentError, match="BLOCK_A is given, and decided by WaveTune"):
        kernel[(4,)](*tensors, 64, 64, 64, BLOCK_A=16)


def test_errors_of_a_launch_are_the_launchs_own(client, tensors):
    with pytest.warns(wavetune.FallbackWarning), pytest.raises(TypeError, match="missing"):
        own_kernel(client)[(4,)](*tensors, 64)


def test_what_a_tuned_function_does_not_take_is_refused_when_it_is_declared(client):
    with pytest.raises(wavetune.InvalidArgumentError, match="default names BLOCK_X"):
        own_kernel(client, default={**DEFAULT, "BLOCK_X": 1})
    with pytest.raises(wavetune.InvalidArgumentError, match="dims names L"):
        own_kernel(client, dims={"L": "m"})
    with pytest.raises(wavetune.InvalidArgumentError, match="put @triton.jit below @tuned"):
        tuned(tables.KERNEL, DIMS, default=DEFAULT)(triton_kernels.body)


# Launching again.


def same_kernel(kernel, arguments, **more):
    """Launches twice, and returns whether both got the kernel that Triton itself gives such a launch."""
    decided = kernel.decision(*arguments, **more)
    own = {PARAMETERS.get(name, name): value for name, value in decided.configuration.items()}
    expected = kernel.fn[(4,)](*arguments, **more, **own)
    return all(kernel[(4,)](*arguments, **more) is expected for _ in range(2))


def test_a_launch_that_is_known_gets_the_kernel_that_triton_would_launch(client, gpu):
    kernel = own_kernel(client)
    aligned, odd = triton_stub.Array(), triton_stub.Array(address=(1 << 20) + 2)
    other = triton_stub.Array("float16")
    kernels = set()
    for arguments in [
        (aligned, aligned, 64, 64, 64),
        (odd, aligned, 64, 64, 64),
        (aligned, aligned, 1, 64, 64),
        (aligned, aligned, 63, 64, 64),
        (other, aligned, 64, 64, 64),
        (aligned, aligned, 64, 64, 1 << 13),
    ]:
        assert same_kernel(kernel, arguments)
        kernels.add(id(kernel[(4,)](*arguments)))
    assert len(kernels) >= 5
    assert same_kernel(kernel, (aligned, aligned, 64, 64), K=64)


def test_a_launch_that_is_known_has_the_grid_and_the_arguments_of_its_own(client, gpu, tensors):
    kernel = own_kernel(client)
    seen = []

    def grid(meta):
        seen.append(dict(meta))
        return (meta["M"], 2)

    for m in (32, 48, 64):
        kernel[grid](*tensors, m, 64, 64)
        assert gpu.launches[-1].grid == (m, 2, 1)
    assert [meta["M"] for meta in seen] == [32, 48, 64]
    assert seen[-1]["x"] is tensors[0] and {"BLOCK_A", "BLOCK_B", "BLOCK_C", "VECTOR"} <= seen[-1].keys()


def test_constexprs_of_the_caller_are_told_apart(client, gpu, tensors):
    def with_flag(x, y, M, N, K, FLAG: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr,
                  BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):  # fmt: skip
        tl.store(y, FLAG)

    kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(triton.jit(with_flag))
    for flag in (1, 2, 1, 2):
        kernel[(4,)](*tensors, 64, 64, 64, FLAG=flag)
        assert gpu.launches[-1].constants["FLAG"] == flag


def test_hooks_before_a_run_still_run(client, gpu, tensors):
    kernel = own_kernel(client)
    kernel[(4,)](*tensors, 64, 64, 64)
    seen = []
    kernel.fn.add_pre_run_hook(lambda *args, **kwargs: seen.append(kwargs["BLOCK_A"]))
    kernel[(4,)](*tensors, 64, 64, 64)
    assert len(seen) == 1


# Ahead of time.


def test_after_precompiling_no_launch_compiles_or_loads(client, gpu, tensors, monkeypatch):
    kernel = own_kernel(client)
    compiled = kernel.precompile(*tensors, 700, 128, 64, vary=["M"])
    configurations = client.tuner(tables.KERNEL).configurations
    assert compiled == 3 * len(configurations)
    assert gpu.launches == []
    loaded = gpu.utils.loaded
    monkeypatch.setattr(kernel.fn, "_do_compile", lambda *arguments: pytest.fail("compiled during a launch"))
    for m in (1, 2, 16, 17, 700, 4096, 5000):
        kernel[(4,)](*tensors, m, 128, 64)
    assert gpu.utils.loaded == loaded
    assert len(gpu.launches) == 7


def test_an_attached_kernel_can_be_precompiled_too(client, gpu, tensors, monkeypatch):
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    assert handle.precompile(*tensors, 64, N=128, K=64) == len(client.tuner(tables.KERNEL).configurations)
    monkeypatch.setattr(kernel.fn, "_do_compile", lambda *arguments: pytest.fail("compiled during a launch"))
    kernel[(4,)](*tensors, 4096, 128, 64)
    assert gpu.benchmarks == 0


def test_precompiling_without_a_table_compiles_nothing(tmp_path, tensors):
    kernel = own_kernel(wavetune.connect(f"unix:{tmp_path}/no.sock", mode="offline", cache_dir=None))
    with pytest.warns(wavetune.FallbackWarning):
        assert kernel.precompile(*tensors, 64, 64, 64) == 0


def test_what_is_varied_is_an_argument(client, tensors):
    with pytest.raises(wavetune.InvalidArgumentError, match="vary names Q"):
        own_kernel(client).precompile(*tensors, 64, 64, 64, vary=["Q"])


# What does not fit: said once, and the kernel is launched as if it were not attached.


def falls_back(kernel, gpu, tensors, match):
    with pytest.warns(wavetune.FallbackWarning, match=match) as said:
        for _ in range(3):
            kernel[(4,)](*tensors, 64, 64, 64)
    assert len(said) == 1
    assert launched(gpu.launches[-1]) in ([8, 8, 8, 2, 1], [4, 4, 4, 2, 2], [16, 16, 16, 2, 1])


def test_without_a_daemon_the_kernel_tunes_itself(tmp_path, gpu, tensors):
    kernel = tuning_kernel()
    nobody = wavetune.connect(f"unix:{tmp_path}/no.sock", cache_dir=None, timeout_s=0.5)
    handle = attached(kernel, nobody)
    falls_back(kernel, gpu, tensors, "wavetune does not decide for body")
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)
    assert handle.reason is not None


def test_without_a_daemon_a_declared_default_is_launched(tmp_path, gpu, tensors):
    nobody = wavetune.connect(f"unix:{tmp_path}/no.sock", cache_dir=None, timeout_s=0.5)
    kernel = tuning_kernel()
    attached(kernel, nobody, default=DEFAULT)
    falls_back(kernel, gpu, tensors, "does not decide")
    assert launched(gpu.launches[-1]) == [16, 16, 16, 2, 1]
    assert gpu.benchmarks == 0
    falls_back(own_kernel(nobody), gpu, tensors, "does not decide")


@pytest.mark.parametrize(
    "silicon, match",
    [
        (tables.SILICON, "is for backend=replay;arch=test"),
        ("backend=cuda;arch=sm_80a;mp=132", "this GPU is cuda sm_90"),
        ("backend=cuda;arch=sm_90a;mp=114", "is for 114 multiprocessors, this GPU has 132"),
    ],
)
def test_a_table_of_another_gpu_decides_nothing(tmp_path, gpu, tensors, silicon, match):
    kernel = tuning_kernel()
    attached(kernel, offline(tmp_path, silicon))
    falls_back(kernel, gpu, tensors, match)


def test_a_table_of_this_triton_decides(tmp_path, gpu, tensors):
    own = offline(tmp_path, compiler=f"Triton {triton.__version__}, ptxas 12.8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", wavetune.FallbackWarning)
        (problem, expected), *_ = decided_problems(1)
        kernel = own_kernel(own)
        kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected


def test_a_table_of_another_triton_decides_only_where_that_is_wanted(tmp_path, gpu, tensors):
    other = offline(tmp_path, compiler="Triton 2.9.9, ptxas 12.8")
    kernel = tuning_kernel()
    attached(kernel, other)
    falls_back(kernel, gpu, tensors, "was measured with Triton 2.9.9, installed is .*any_triton=True")
    (problem, expected), *_ = decided_problems(1)
    wanted = own_kernel(other, any_triton=True)
    wanted[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    assert launched(gpu.launches[-1]) == expected


def test_a_table_of_a_kernel_in_another_language_decides_nothing(tmp_path, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, offline(tmp_path, compiler="NVRTC 13.0"))
    falls_back(kernel, gpu, tensors, "measured with NVRTC 13.0, not with Triton")


@pytest.mark.parametrize(
    "options, match",
    [
        ({"dims": {"M": "m", "N": "n"}}, "dims gives no k: the table decides by m, n, k"),
        ({"dims": {"M": "m", "N": "n", "K": "kk"}}, "no dimension 'kk'; did you mean 'k'"),
        ({"dims": {"MM": "m", "N": "n", "K": "k"}}, "'MM', which is no argument of the kernel; did you mean 'M'"),
        ({"dims": lambda arguments: {"m": 1}}, "could not be decided .ValueError"),
        ({"dims": lambda arguments: arguments["nothing"]}, "could not be decided .KeyError"),
        ({"parameters": {}}, "the table decides STAGES, which the kernel does not take"),
        ({"tuned": "nothing"}, "nothing"),
        ({"specialisation": lambda arguments: 1 / 0}, "specialisation.. raised ZeroDivisionError"),
        ({"specialisation": lambda arguments: ["gate_up"]}, r"specialisation is \['gate_up'\], which is no name"),
        ({"specialisation": "none"}, "does not decide"),
    ],
)
def test_what_does_not_fit_is_said_once_and_the_kernel_tunes_itself(client, gpu, tensors, options, match):
    kernel = tuning_kernel()
    attached(kernel, client, **options)
    falls_back(kernel, gpu, tensors, match)


# What was measured is not what is launched.


BF16 = "in x[m, n] bfloat16, out y[m, n] bfloat16, m int32"


def of_type(tmp_path, arguments=BF16):
    """A client whose table lies beside a manifest with these arguments."""
    folder = tables.add_variant_with_manifest(tmp_path / "kernel", "gemm", silicon=H100, arguments=arguments)
    return wavetune.connect(mode="offline", cache_dir=None, table_file=folder)


def is_decided(kernel, gpu, tensors):
    (problem, expected), *_ = decided_problems(1)
    kernel[(4,)](*tensors, problem["m"], problem["n"], problem["k"])
    return launched(gpu.launches[-1]) == expected


def test_a_tuner_says_what_its_kernel_is_measured_with(tmp_path, client):
    tuner = of_type(tmp_path).tuner(tables.KERNEL)
    assert tuner.arguments == (
        wavetune.Argument("x", "input", "bfloat16"),
        wavetune.Argument("y", "output", "bfloat16"),
        wavetune.Argument("m", "scalar", "int32"),
    )
    with pytest.raises(wavetune.NotFoundError, match="has the manifest of kernel"):
        client.tuner(tables.KERNEL).arguments


def array(*args, **kwargs):
    return triton_stub.Array(*args, **kwargs)


@pytest.mark.parametrize(
    "tensors, why",
    [
        ((array("bfloat16"), array("bfloat16")), None),
        ((array("float16"), array("float16")), None),
        ((array("float32"), array("float32")), "x is float32, the table was measured with bfloat16"),
        ((array("bfloat16"), array("float32")), "y is float32, the table was measured with bfloat16"),
        ((array("int16"), array("bfloat16")), "x is int16"),
        ((array("bfloat16", address=(1 << 20) + 8), array()), "x or a row of it begins at an address"),
        ((array(strides=(7, 1)), array()), "x or a row of it begins at an address"),
        ((array(strides=(1, 4096)), array(strides=(16, 1))), None),
    ],
    ids=["as_measured", "as_wide", "wider", "wider_output", "other_kind", "odd_address", "odd_rows", "other_rows"],
)
def test_launches_with_other_data_than_was_measured_are_left_alone(tmp_path, gpu, tensors, why):
    kernel = tuning_kernel()
    handle = attached(kernel, of_type(tmp_path))
    if why is None:
        assert is_decided(kernel, gpu, tensors)
    else:
        falls_back(kernel, gpu, tensors, why)
        assert is_decided(kernel, gpu, (array(), array()))  # The next one is as measured.
        assert not is_decided(kernel, gpu, tensors)
        assert why in handle.reason


@pytest.mark.parametrize("narrow", ["uint8", "float32"])
def test_of_a_kernel_with_other_arguments_the_narrowest_type_of_data_is_compared(tmp_path, gpu, narrow):
    kernel = own_kernel(of_type(tmp_path, "in a[m, k] bfloat16, in scale[m] float32, out c[m, n] bfloat16"))
    assert is_decided(kernel, gpu, (array("bfloat16"), array("float32")))
    other = (array(narrow), array("float32"))
    with pytest.warns(wavetune.FallbackWarning, match=f"its data is {narrow}, the table was measured with bfloat16"):
        assert not is_decided(kernel, gpu, other)


def test_a_pointer_that_is_none_is_not_what_was_measured(tmp_path, gpu, tensors):
    def with_bias(x, y, bias, M, N, K, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr,
                  VECTOR: tl.constexpr):  # fmt: skip
        tl.store(y, BLOCK_A)

    client = of_type(tmp_path, "in x[m, n] bfloat16, in bias[n] float32, out y[m, n] bfloat16")
    kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(triton.jit(with_bias))
    bias = array("float32")
    assert is_decided(kernel, gpu, (*tensors, bias))
    with pytest.warns(wavetune.FallbackWarning, match="bias is None, the table was measured with a buffer"):
        assert not is_decided(kernel, gpu, (*tensors, None))
    assert is_decided(kernel, gpu, (*tensors, bias))


def test_data_given_by_name_is_compared_too(tmp_path, gpu, tensors):
    kernel = tuning_kernel()
    attached(kernel, of_type(tmp_path))
    (problem, expected), *_ = decided_problems(1)
    extents = {"M": problem["m"], "N": problem["n"], "K": problem["k"]}
    for x, decided in [(tensors[0], True), (array("float32"), False), (tensors[0], True)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavetune.FallbackWarning)
            kernel[(4,)](x=x, y=tensors[1], **extents)
        assert (launched(gpu.launches[-1]) == expected) == decided


def test_a_type_in_place_of_a_tensor_says_nothing_of_launches(tmp_path, gpu, tensors):
    kernel = own_kernel(of_type(tmp_path))
    with pytest.warns(wavetune.FallbackWarning, match="x is float32"):
        assert kernel.precompile(tl.float32, tl.float32, 64, 64, 64) == 0
    assert is_decided(kernel, gpu, tensors)
    assert not is_decided(kernel, gpu, (array("float32"), array("float32")))


def test_what_was_no_tensor_the_first_time_is_compared_when_it_is_one():
    arguments = [wavetune.Argument("x", "input", "bfloat16"), wavetune.Argument("scale", "input", "float32")]
    kinds = LaunchKinds(arguments, ["x", "scale", "m"])
    float64 = array("float64")
    for first in [(tl.bfloat16, tl.float32, 4), (array(), 1.0, 4), (array(), None, 4), (array(),)]:
        kinds.difference(first, {})
        assert "scale is float64" in kinds.difference((array(), float64, 4), {})
        kinds.difference(first, {})
        assert "scale is float64" in kinds.difference((array(),), {"scale": float64})
        kinds.difference(first, {})
        assert kinds.difference((array(), array("float32"), 4), {}) is None
    assert "scale is None" in kinds.difference((array(), None, 4), {})


def test_each_device_is_decided_for_by_a_table_of_its_own(client, gpu, tensors):
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    assert is_decided(kernel, gpu, tensors)
    gpu.devices[1] = (80, 108)
    gpu.current = 1
    with pytest.warns(wavetune.FallbackWarning, match="this GPU is cuda sm_80"):
        assert not is_decided(kernel, gpu, tensors)
    gpu.current = 0
    assert is_decided(kernel, gpu, tensors)
    handle.refresh()
    gpu.devices[2] = (90, 132)
    gpu.current = 2
    assert is_decided(kernel, gpu, tensors)
    assert handle.reason is None


def test_of_several_classes_in_one_machine_each_has_its_own_table(tmp_path, gpu, tensors, monkeypatch):
    cache = tmp_path / "cache"
    tables.add_variant_to_cache(cache, "gemm", silicon=H100, device="GPU-0")
    tables.add_variant_to_cache(cache, "gemm", silicon="backend=cuda;arch=sm_80a;mp=108", device="GPU-1")
    client = wavetune.connect(f"unix:{tmp_path}/nobody.sock", mode="offline", cache_dir=cache)
    kernel = tuning_kernel()
    attached(kernel, client)
    falls_back(kernel, gpu, tensors, "several cached tables fit")  # Nobody says which device it is.
    monkeypatch.setattr(triton_decider, "device_uuid", lambda device: f"GPU-{device}")
    gpu.devices[1] = (80, 108)
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    for gpu.current in (0, 1):
        assert is_decided(kernel, gpu, tensors)
    assert handle.reason is None


def test_the_uuid_of_a_device_is_torchs(monkeypatch):
    properties = {0: types.SimpleNamespace(uuid="1a2b"), 1: types.SimpleNamespace()}
    cuda = types.SimpleNamespace(get_device_properties=properties.__getitem__)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    assert [triton_decider.device_uuid(device) for device in (0, 1, 2)] == ["GPU-1a2b", None, None]
    monkeypatch.setitem(sys.modules, "torch", None)
    assert triton_decider.device_uuid(0) is None


def test_types_are_alike_where_tiles_are():
    tiled = triton_arguments.alike
    assert tiled("bfloat16", "float16") and tiled("int32", "uint32") and tiled("float8_e4m3fn", "float8_e5m2")
    assert not tiled("bfloat16", "float32") and not tiled("bfloat16", "int16") and not tiled("float8_e4m3fn", "bfloat16")
    assert triton_arguments.narrowest(["int32", "float32", "bfloat16", "bool"]) == "bfloat16"
    assert triton_arguments.narrowest(["float32", "float8_e4m3fn", "bfloat16"]) == "float8_e4m3fn"
    assert triton_arguments.narrowest(["int64", "bool"]) is None
    assert triton_arguments.name_of(tl.bfloat16) == triton_arguments.type_name(array()) == "bfloat16"


# What does not compile, or does not fit.


def asserting(x, y, M, N, K, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):
    tl.static_assert(BLOCK_A <= 16 or x.dtype.element_ty != tl.float32)
    tl.store(y, BLOCK_A)


def big_problem():
    """A problem whose tile is too large for asserting()."""
    return next(problem for problem, expected in decided_problems(64) if expected[0] > 16)


def test_a_configuration_that_does_not_fit_is_left_to_the_kernels_own_tuning(client, gpu, tensors):
    gpu.utils.most_threads = 64  # The table's choices have four warps, the kernel's own have two.
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    falls_back(kernel, gpu, tensors, "VECTOR=.* does not compile or fit .OutOfResources: .*threads")
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)
    assert "OutOfResources" in handle.reason


def test_a_configuration_that_does_not_fit_gives_way_to_the_declared_default(client, gpu, tensors):
    gpu.utils.most_threads = 64
    kernel = tuning_kernel()
    attached(kernel, client, default=DEFAULT)
    falls_back(kernel, gpu, tensors, "does not compile or fit")
    assert launched(gpu.launches[-1]) == [16, 16, 16, 2, 1]
    falls_back(own_kernel(client), gpu, tensors, "does not compile or fit")
    assert launched(gpu.launches[-1]) == [16, 16, 16, 2, 1]
    too_much = tuning_kernel()
    attached(too_much, client, default={**DEFAULT, "num_warps": 8})
    falls_back(too_much, gpu, tensors, "does not compile or fit")
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)


def test_what_fails_is_taken_out_for_launches_like_it_alone_and_not_tried_again(client, gpu, monkeypatch):
    kernel = triton.autotune(configs=triton_kernels.CONFIGS, key=["M", "N", "K"])(triton.jit(asserting))
    attached(kernel, client)
    problem = big_problem()
    launch = lambda dtype: kernel[(4,)](array(dtype), array(), problem["m"], problem["n"], problem["k"])  # noqa: E731
    with pytest.warns(wavetune.FallbackWarning, match="CompileTimeAssertionFailure"):
        launch("float32")
    assert gpu.launches[-1].constants["BLOCK_A"] <= 16
    launch("bfloat16")
    assert gpu.launches[-1].constants["BLOCK_A"] > 16
    monkeypatch.setattr(kernel.fn, "_do_compile", lambda *arguments: pytest.fail("tried again"))
    launch("float32")
    assert gpu.launches[-1].constants["BLOCK_A"] <= 16


def scaled(x, y, M, N, K, scale, WIDTH: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr,
           BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):  # fmt: skip
    tl.static_assert(BLOCK_A <= 16 or WIDTH < 128)
    tl.store(y, scale * BLOCK_A)


@pytest.mark.parametrize("own", [True, False], ids=["tuned", "attached"])
def test_what_fails_depends_on_constants_by_value_and_on_no_float(client, gpu, monkeypatch, own):
    if own:
        kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(triton.jit(scaled))
    else:
        kernel = triton.autotune(configs=triton_kernels.CONFIGS[:1], key=[])(triton.jit(scaled))
        attached(kernel, client)
    problem = big_problem()

    def block(scale, width):
        kernel[(4,)](array(), array(), problem["m"], problem["n"], problem["k"], scale, WIDTH=width)
        return gpu.launches[-1].constants["BLOCK_A"]

    with pytest.warns(wavetune.FallbackWarning, match="CompileTimeAssertionFailure"):
        assert block(0.5, 128) <= 16
    assert block(0.5, 64) > 16
    monkeypatch.setattr(kernel.fn, "_do_compile", lambda *arguments: pytest.fail("tried again"))
    assert block(0.25, 128) <= 16


def test_a_kernel_that_fails_by_itself_fails_as_it_did(client, gpu):
    def broken(x, y, M, N, K, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr, VECTOR: tl.constexpr):
        tl.static_assert(False, "never")

    from triton.compiler.errors import CompilationError

    kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(triton.jit(broken))
    with pytest.warns(wavetune.FallbackWarning), pytest.raises(CompilationError) as raised:
        kernel[(4,)](array(), array(), 64, 64, 64)
    assert raised.value.__context__ is None


def test_errors_of_a_callers_grid_are_the_callers(client, gpu, tensors):
    kernel = tuning_kernel()
    handle = attached(kernel, client)
    with pytest.raises(ZeroDivisionError):
        kernel[lambda meta: (1 // 0,)](*tensors, 64, 64, 64)
    assert handle.reason is None


def test_precompiling_leaves_out_what_does_not_compile(client, gpu):
    kernel = tuned(tables.KERNEL, DIMS, parameters=PARAMETERS, client=client, default=DEFAULT)(triton.jit(asserting))
    fitting = [own for own in client.tuner(tables.KERNEL).configurations if own["BLOCK_A"] <= 16]
    with pytest.warns(wavetune.FallbackWarning, match="CompileTimeAssertionFailure"):
        compiled = kernel.precompile(array("float32"), array("float32"), 64, 64, 64)
    assert compiled == len(fitting) + 1  # And the default.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = big_problem()
        loaded = gpu.utils.loaded
        kernel[(4,)](array("float32"), array("float32"), 64 * problem["m"], problem["n"] * 16, 16 * problem["k"])
    assert gpu.utils.loaded == loaded


def test_precompiling_for_other_data_than_was_measured_compiles_nothing(tmp_path, gpu):
    kernel = own_kernel(of_type(tmp_path))
    with pytest.warns(wavetune.FallbackWarning, match="x is float32"):
        assert kernel.precompile(array("float32"), array("float32"), 64, 64, 64) == 0
    assert kernel.precompile(array(), array(), 64, 64, 64) > 1


def gated(a, gate, up, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
          GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr):  # fmt: skip
    """c = (a @ gate) * (a @ up): twice the weights that the table's kernel keeps in shared memory."""
    pid = tl.program_id(0)
    rows = pid // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    one = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    two = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = tl.load(a + rows[:, None] * K + (k * BLOCK_K + ks)[None, :])
        places = (k * BLOCK_K + ks)[:, None] * N + columns[None, :]
        one = tl.dot(left, tl.load(gate + places), one)
        two = tl.dot(left, tl.load(up + places), two)
    tl.store(c + rows[:, None] * N + columns[None, :], (one * two).to(tl.bfloat16))


def test_a_kernel_with_two_weights_runs_where_the_table_was_measured_with_one(gpu):
    small = {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "SPLIT_K": 1}
    kernel = triton.autotune(configs=[triton.Config(small, num_warps=4, num_stages=2)], key=[])(triton.jit(gated))
    shipped = tables.ROOT / "kernels" / "triton_gemm" / "tables" / "h100.table"
    client = wavetune.connect(mode="offline", cache_dir=None, table_file=shipped)
    handle = attach(kernel, "triton_gemm", DIMS, client=client, strict=True)
    with pytest.warns(wavetune.FallbackWarning, match="does not compile or fit .OutOfResources: .*shared memory"):
        kernel[(4,)](array(), array(), array(), array(), 256, 4096, 4096)
    assert gpu.launches[-1].constants["BLOCK_M"] == 16
    assert handle.decision(array(), array(), array(), array(), 256, 4096, 4096).configuration["BLOCK_M"] > 16
    kernel[(4,)](array("float32"), array("float32"), array("float32"), array("float32"), 256, 4096, 4096)
    assert gpu.launches[-1].constants["BLOCK_M"] == 16


# Hooks of configurations.


def hooked(hooks):
    """A kernel whose configurations have these hooks."""
    configs = [
        triton.Config(config.kwargs, num_warps=4, num_stages=2, pre_hook=hook)
        for config, hook in zip(triton_kernels.CONFIGS, hooks)
    ]
    return triton.autotune(configs=configs, key=["M", "N", "K"])(triton.jit(triton_kernels.body))


def zero(names, zeroed):
    """A hook as packages write it: a new function for each configuration."""
    return lambda arguments: zeroed.append([arguments[name] for name in names])


def test_hooks_that_do_the_same_run_with_every_decision(client, gpu, tensors):
    zeroed = []
    for hooks in (
        [zero(["y"], zeroed), zero(["y"], zeroed)],
        [functools.partial(note, zeroed), functools.partial(note, zeroed)],
    ):
        kernel = hooked(hooks)
        attached(kernel, client)
        zeroed.clear()
        assert is_decided(kernel, gpu, tensors)
        assert zeroed == [[tensors[1]]]


def note(zeroed, arguments):
    zeroed.append([arguments["y"]])


def test_a_hook_of_one_configuration_runs_with_that_one_and_no_other_is_decided(client, gpu, tensors):
    (problem, expected), *_ = decided_problems(1)
    seen = []
    own = {"BLOCK_A": expected[0], "BLOCK_B": expected[1], "BLOCK_C": expected[2], "VECTOR": expected[4]}
    hooks = [lambda arguments: seen.append("the table's"), lambda arguments: seen.append("another")]
    configs = [
        triton.Config(own, num_stages=expected[3], pre_hook=hooks[0]),
        triton.Config(triton_kernels.CONFIGS[0].kwargs, num_warps=2, num_stages=2, pre_hook=hooks[1]),
    ]
    kernel = triton.autotune(configs=configs, key=["M", "N", "K"])(triton.jit(triton_kernels.body))
    attached(kernel, client)
    assert is_decided(kernel, gpu, tensors)
    assert seen == ["the table's"] and gpu.benchmarks == 0
    unlike = next(problem for problem, values in decided_problems(64) if values != expected)
    with pytest.warns(wavetune.FallbackWarning, match="pre_hooks of their own, and the table's .* is none of them"):
        kernel[(4,)](*tensors, unlike["m"], unlike["n"], unlike["k"])
    assert gpu.benchmarks == len(configs)
    assert seen[-1] in ("the table's", "another")


def test_a_declared_default_without_a_hook_of_its_own_is_refused(client, gpu, tensors):
    hooks = [lambda arguments: None, lambda arguments: arguments]
    with pytest.raises(wavetune.InvalidArgumentError, match="default: the kernel's configurations have pre_hooks"):
        attached(hooked(hooks), client, default=DEFAULT, strict=True)
    with pytest.warns(wavetune.FallbackWarning, match="not attached: default: .* pre_hooks of their own"):
        assert attach(hooked(hooks), tables.KERNEL, DIMS, client=client, default=DEFAULT) is None
    own = {**triton_kernels.CONFIGS[0].kwargs, "num_warps": 4, "num_stages": 2}
    attached(hooked(hooks), client, default=own)


def test_dims_the_wrong_way_round_are_recognised():
    with pytest.raises(wavetune.InvalidArgumentError, match="the wrong way round.*{'M': 'm'}"):
        reader_of({"m": "M"}, ["x", "M"], ["m"])


def test_a_configuration_argument_that_nobody_decides_is_named(client, gpu, tensors):
    configs = [triton.Config({**config.kwargs, "K": k}) for k, config in enumerate(triton_kernels.CONFIGS)]
    kernel = triton.autotune(configs=configs, key=["M", "N"])(triton.jit(triton_kernels.body))
    attached(kernel, client, dims=lambda arguments: {"m": 64, "n": 64, "k": 64})
    with pytest.warns(wavetune.FallbackWarning, match="does not decide K, .*constants={'K'"):
        kernel[(4,)](*tensors, 64, 64)


def test_a_kernel_that_is_not_autotuned_is_left_alone(client):
    with pytest.warns(wavetune.FallbackWarning, match="body has no @triton.autotune.*@wavetune.triton.tuned"):
        assert attach(triton_kernels.plain, tables.KERNEL, DIMS, client=client) is None
    with pytest.raises(wavetune.InvalidArgumentError, match="has no @triton.autotune"):
        attach(triton_kernels.plain, tables.KERNEL, DIMS, client=client, strict=True)


def test_a_triton_that_is_too_old_is_left_alone(client, gpu, tensors, monkeypatch):
    monkeypatch.setattr(triton_decider, "triton_version", lambda: "3.5.1")
    kernel = tuning_kernel()
    with pytest.warns(wavetune.FallbackWarning, match="triton is 3.5.1; wavetune.triton needs 3.6 or newer"):
        assert attach(kernel, tables.KERNEL, DIMS, client=client) is None
    kernel[(4,)](*tensors, 64, 64, 64)
    assert gpu.benchmarks == len(triton_kernels.CONFIGS)


def test_of_a_triton_that_nobody_tried_is_warned_once(monkeypatch):
    monkeypatch.setattr(triton_decider, "triton_version", lambda: "4.0.0")
    monkeypatch.setattr(triton_decider, "_warned_of_newer", [])
    with pytest.warns(wavetune.FallbackWarning, match="4.0.0 is newer") as said:
        triton_decider.check_triton()
        triton_decider.check_triton()
    assert len(said) == 1


def test_after_a_refresh_the_table_is_asked_for_again(tmp_path, gpu, tensors):
    cache = tmp_path / "cache"
    tables.add_variant_to_cache(cache, "gemm", silicon="backend=cuda;arch=sm_80a;mp=132")
    kernel = own_kernel(wavetune.connect(f"unix:{tmp_path}/no.sock", mode="offline", cache_dir=cache))
    falls_back(kernel, gpu, tensors, "this GPU is cuda sm_90")
    driver.set_active(triton_stub.StubDriver(arch=80))
    kernel.refresh()
    assert kernel.decision(*tensors, 64, 64, 64) is not None
    assert kernel.reason is None


def test_balanced_routing_differs_by_at_most_one_the_larger_first():
    assert balanced(10, 4) == [3, 3, 2, 2]
    assert sum(balanced(8 * 700, 128)) == 5600
    assert balanced(3, 5) == [1, 1, 1, 0, 0]
    with pytest.raises(wavetune.InvalidArgumentError):
        balanced(1, 0)


def test_the_benchmark_of_launches_runs_without_a_gpu(tmp_path, monkeypatch):
    script = Path(__file__).resolve().parents[1] / "benchmarks" / "triton_launch_benchmark.py"
    figures = tmp_path / "figures.json"
    command = [sys.executable, script, "--stub", "--quick", "--json", figures]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    written = json.loads(figures.read_text())
    assert set(written["launch_us"]) == {"compiled", "bare", "bare_lambda", "tuned", "attached", "autotune"}
    assert written["first_launch_us"]["tuned"]["launches"] == 32
