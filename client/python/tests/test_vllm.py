"""wavetune.vllm in a package `vllm` that chooses as vLLM does (fake_vllm.py)."""

import importlib
import importlib.metadata
import json
import logging
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import expert_kernel
import fake_vllm
import pytest
import tables

import wavetune
import wavetune.engine_kernel
import wavetune.experts
import wavetune.export
import wavetune.triton_decider
import wavetune.vllm

LAYER = dict(experts=128, hidden=2048, intermediate=768, top_k=8)
DEFAULT = fake_vllm.RULE


def offline(folder, name="fused_moe"):
    return wavetune.connect(mode=wavetune.Mode.OFFLINE, cache_dir=folder / "cache", table_file=tables.path(name))


@pytest.fixture
def client(tmp_path):
    return offline(tmp_path)


@pytest.fixture
def tuner(client):
    return client.tuner("triton_fused_moe", specialisation="gate_up")


@pytest.fixture
def engine(tmp_path, monkeypatch):
    yield fake_vllm.FakeVllm(tmp_path / "site", monkeypatch)
    wavetune.vllm.uninstall()


@pytest.fixture
def warnings(caplog):
    caplog.set_level(logging.INFO, logger="vllm.wavetune")
    return lambda: [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def decided(tuner, tokens, slots=None, experts=128, hidden=2048, intermediate=768, top_k=8, rule=DEFAULT):
    """What the table decides where the engine by itself has `rule`."""
    slots = slots or wavetune.ExpectedRouting(experts, top_k).slots(tokens)
    gate_up = dict(tokens=slots, n=2 * intermediate, k=hidden, top_k=top_k)
    down = dict(tokens=slots, n=hidden, k=intermediate, top_k=top_k)
    known = {name: rule[name] for name in tuner.parameters}
    both = tuner.resolve_together([("gate_up", gate_up), ("down", down)], incumbent=known)
    return rule if both[0].configuration == known else dict(both[0].configuration)


def test_the_engine_gets_the_tables_choice_at_any_number_of_tokens(engine, client, tuner, warnings):
    assert wavetune.vllm.install(client)
    choices = {tokens: engine.choose(tokens, **LAYER) for tokens in (1, 63, 700, 1500, 3000, 16384, 20000)}
    assert choices == {tokens: decided(tuner, tokens) for tokens in choices}
    assert len({str(choice) for choice in choices.values()}) > 3
    assert set(choices[1]) == set(wavetune.experts.PARAMETERS)
    assert all(type(value) is int for value in choices[1].values())
    assert not warnings()


def test_modules_that_have_the_function_under_their_own_name_use_the_table_too(engine, client, tuner):
    experts = engine.module("experts.triton_moe")  # Before the installation: bound to the original.
    assert wavetune.vllm.install(client)
    w1, w2 = (128, 1536, 2048), (128, 2048, 768)
    assert experts.apply(w1, w2, 8, 700) == decided(tuner, 700)
    wavetune.vllm.uninstall()
    assert experts.apply(w1, w2, 8, 700) == DEFAULT


@pytest.mark.parametrize("path", fake_vllm.OTHER_KERNELS, ids=lambda path: Path(path).stem)
@pytest.mark.parametrize("early", [True, False], ids=["imported_before", "imported_after"])
def test_callers_that_launch_another_kernel_get_the_engines_own_answer(engine, client, tuner, warnings, path, early):
    name = path[: -len(".py")].replace("/", ".")
    if early:
        importlib.import_module(name)
    assert wavetune.vllm.install(client)
    w1, w2 = (128, 1536, 2048), (128, 2048, 768)
    assert importlib.import_module(name).apply(w1, w2, 8, 700) == DEFAULT
    assert engine.module("experts.triton_moe").apply(w1, w2, 8, 700) == decided(tuner, 700)
    assert not warnings()


@pytest.mark.parametrize("type_of_weights", ["bfloat16", "float32"])
def test_a_table_of_experts_of_another_type_is_not_used(engine, tmp_path, tuner, warnings, type_of_weights):
    kernel = tmp_path / "kernel"
    (kernel / "tables").mkdir(parents=True)
    shutil.copy(tables.path("fused_moe"), kernel / "tables" / "h200.table")
    arguments = f'arguments: "in w[n, k] {type_of_weights}, out y[n, k] bfloat16, top_k int32"'
    expert_kernel.write(kernel, arguments=('arguments: "top_k int32"', arguments))
    own = wavetune.connect(mode="offline", cache_dir=None, table_file=kernel / "tables")
    assert wavetune.vllm.install(own)
    if type_of_weights == "bfloat16":
        assert engine.choose(700) == decided(tuner, 700)
        return
    assert engine.choose(700) == DEFAULT
    assert "its data is bfloat16, the table was measured with float32" in warnings()[0]


def test_what_a_caller_changes_is_its_own(engine, client, tuner):
    assert wavetune.vllm.install(client)
    engine.choose(700).clear()
    assert engine.choose(700) == decided(tuner, 700)


def test_installed_twice_is_installed_once(engine, client, warnings):
    original = engine.module("fused_moe").try_get_optimal_moe_config
    assert wavetune.vllm.install(client)
    ours = engine.module("fused_moe").try_get_optimal_moe_config
    assert wavetune.vllm.install(client)
    assert wavetune.vllm.register() is None
    assert engine.module("fused_moe").try_get_optimal_moe_config is ours
    wavetune.vllm.uninstall()
    assert engine.module("fused_moe").try_get_optimal_moe_config is original
    assert not warnings()


def test_a_second_copy_of_the_module_does_not_install_over_the_first(engine, client, warnings):
    assert wavetune.vllm.install(client)
    ours = engine.module("fused_moe").try_get_optimal_moe_config
    wavetune.vllm._hook, kept = None, wavetune.vllm._hook
    try:
        assert not wavetune.vllm.install(client)
    finally:
        wavetune.vllm._hook = kept
    assert engine.module("fused_moe").try_get_optimal_moe_config is ours
    assert "another copy" in warnings()[0]


def test_installed_after_the_engine_read_its_files_says_so(engine, client, tuner, warnings):
    engine.choose(700)
    assert wavetune.vllm.install(client)
    assert "after vLLM looked for 1 of its MoE configuration files" in warnings()[0]
    assert engine.choose(700) == decided(tuner, 700)


@pytest.mark.parametrize(
    "more",
    [dict(dtype="fp8_w8a8"), dict(block_shape=[128, 128]), dict(is_marlin=True)],
    ids=lambda more: next(iter(more)),
)
def test_other_kernels_are_the_engines_own_business(tmp_path, monkeypatch, client, more, warnings):
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch, more="is_marlin=False, ")
    try:
        assert wavetune.vllm.install(client)
        assert engine.choose(700, **more) == DEFAULT
        assert engine.choose(700, is_marlin=False) != DEFAULT
        assert not warnings()
    finally:
        wavetune.vllm.uninstall()


def test_what_the_engine_is_told_to_use_it_uses(engine, client, tuner):
    assert wavetune.vllm.install(client)
    with engine.module().override_config({"BLOCK_SIZE_M": 16}):
        assert engine.choose(700) == {"BLOCK_SIZE_M": 16}
    __import__("vllm.envs").envs.VLLM_BATCH_INVARIANT = True
    assert engine.choose(700) == DEFAULT
    __import__("vllm.envs").envs.VLLM_BATCH_INVARIANT = False
    assert engine.choose(700) == decided(tuner, 700)


def test_the_routing_that_a_caller_knows_decides(engine, client, tuner, warnings):
    assert wavetune.vllm.install(client)
    skewed = [2800, 2800] + [0] * 126
    with wavetune.vllm.routing(skewed):
        assert engine.choose(700) == decided(tuner, 700, slots=skewed)
        assert engine.choose(700) != decided(tuner, 700)
    assert engine.choose(700) == decided(tuner, 700)
    with wavetune.vllm.routing([1, 2]):
        assert engine.choose(700) == decided(tuner, 700)
    assert warnings() == ["routing() has 2 experts, a layer 128: an expected routing stands for it"]


def test_experts_of_other_devices_have_their_share_of_the_tokens(engine, client, tuner):
    assert wavetune.vllm.install(client, expert_parallel=4)
    slots = wavetune.ExpectedRouting(128, 8).slots(4096, 32)
    assert sum(slots) == pytest.approx(4096 * 8 / 4, rel=0.1)
    assert engine.choose(4096, experts=32) == decided(tuner, 4096, slots=slots, experts=32)


def test_what_the_engines_kernel_does_not_compile_is_left_to_it(engine, client, tuner, warnings, monkeypatch):
    bad, compiled = decided(tuner, 700), []

    def compile_here(module, layer, launch):
        assert module is engine.module("fused_moe") and launch.gate_up == launch.down
        compiled.append((layer, dict(launch.gate_up)))
        if launch.gate_up == bad:
            raise RuntimeError("PassManager::run failed")

    monkeypatch.setattr(wavetune.engine_kernel, "compile_here", compile_here)
    assert wavetune.vllm.install(client)
    counts = [tokens for tokens in range(600, 800) if decided(tuner, tokens) == bad]
    assert len(counts) > 1
    assert [engine.choose(tokens) for tokens in counts] == [DEFAULT] * len(counts)
    # Once, and what the engine launches by itself, which shows that the reason is no other.
    shape = wavetune.engine_kernel.Layer(experts=128, intermediate=768, hidden=2048, top_k=8)
    assert compiled == [(shape, bad), (shape, DEFAULT)]
    (said,) = warnings()
    assert f"whose kernel does not compile {bad}: RuntimeError: PassManager::run failed" in said
    other = next(tokens for tokens in range(1, 20000, 50) if decided(tuner, tokens) not in (bad, DEFAULT))
    assert engine.choose(other) == decided(tuner, other)
    assert compiled[2:] == [(shape, decided(tuner, other))]


@pytest.mark.parametrize("error", [RuntimeError("0 active drivers"), wavetune.engine_kernel.CannotTell("another form")])
def test_where_nothing_tells_what_compiles_the_table_decides(engine, client, tuner, warnings, monkeypatch, error):
    monkeypatch.setattr(wavetune.engine_kernel, "compile_here", mock.Mock(side_effect=error))
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == decided(tuner, 700)
    assert not warnings()


def test_a_layer_that_the_table_cannot_decide_is_left_to_the_engine_with_one_warning(engine, client, warnings):
    assert wavetune.vllm.install(client)
    for _ in range(3):
        assert engine.choose(700, hidden=1 << 31) == DEFAULT
    assert len(warnings()) == 1
    assert "EXTENT_OUT_OF_RANGE" in warnings()[0]


@pytest.mark.parametrize("shape", [(128, 2048), (), None, (128, "x", 768), (-1, 2048, 768)])
def test_nothing_unexpected_is_an_exception_in_the_engine(engine, client, shape, warnings):
    assert wavetune.vllm.install(client)
    choose = engine.module("fused_moe").try_get_optimal_moe_config
    try:
        expected = choose.__wrapped__((128, 1536, 2048), shape, 8, None, 700)
    except Exception as error:
        with pytest.raises(type(error)):
            choose((128, 1536, 2048), shape, 8, None, 700)
    else:
        assert choose((128, 1536, 2048), shape, 8, None, 700) == expected
    assert len(warnings()) == 1


def test_weights_that_are_packed_are_another_kernels(engine, client, warnings):
    """Emulated four-bit types say no type, and count two numbers as one."""
    assert wavetune.vllm.install(client)
    choose = engine.module("fused_moe").try_get_optimal_moe_config
    assert choose((128, 1536, 1024), (128, 2048, 384), 8, None, 700) == DEFAULT
    assert "are no two products of experts" in warnings()[0]


def test_without_a_table_the_engine_does_as_it_did(engine, tmp_path, warnings):
    nobody = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=tmp_path / "none", timeout_s=1)
    assert wavetune.vllm.install(nobody)
    for _ in range(2):
        assert engine.choose(700) == DEFAULT
    assert "has no table for vLLM's experts" in warnings()[0]
    assert "until it is started again" in warnings()[0]


def test_a_table_of_another_kernel_is_not_used(engine, tmp_path, warnings):
    assert wavetune.vllm.install(offline(tmp_path, "gemm"), kernel="random")
    assert engine.choose(700) == DEFAULT
    assert 'kernel "random"' in warnings()[0] or "specialisation" in warnings()[0]


def test_a_table_of_another_gpu_is_not_used(engine, tmp_path, warnings):
    folder = tmp_path / "other"
    tables.add_to_cache(folder, "grouped_gemm")
    client = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=folder, timeout_s=1)
    assert wavetune.vllm.install(client, kernel="random", device="GPU-1")
    assert engine.choose(700) == DEFAULT
    assert "GPU-1" in warnings()[0]


def fake_torch(**properties):
    """A module `torch` with one device."""
    device = types.SimpleNamespace(**properties)
    cuda = types.SimpleNamespace(current_device=lambda: 0, get_device_properties=lambda index: device)
    return types.SimpleNamespace(cuda=cuda)


H200 = dict(major=9, minor=0, multi_processor_count=132)


@pytest.mark.parametrize("other", [dict(major=10), dict(multi_processor_count=114)])
def test_a_table_in_a_file_of_another_gpu_is_not_used(engine, client, monkeypatch, other, warnings):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(**{**H200, **other}))
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == DEFAULT
    assert "of another GPU (backend=cuda;arch=sm_90;mp=132;" in warnings()[0]


def test_a_table_in_a_file_of_this_gpu_is_used(engine, client, tuner, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", fake_torch(**H200))
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == decided(tuner, 700)


def measured_with(tmp_path, compiler):
    """Returns a client that has the golden table as if it were measured with a compiler."""
    folder = tmp_path / "measured"
    tables.add_experts_to_cache(folder, compiler)
    return wavetune.connect(f"unix:{tmp_path}/nobody.sock", mode="offline", cache_dir=folder)


def test_a_table_of_another_triton_is_not_used_unless_that_is_wanted(engine, tmp_path, tuner, monkeypatch, warnings):
    monkeypatch.setattr(wavetune.triton_decider, "triton_version", lambda: "3.6.0")
    client = measured_with(tmp_path, "Triton 2.9.9, ptxas 12.8")
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == DEFAULT
    assert "measured with Triton 2.9.9, installed is 3.6.0" in warnings()[0]
    assert "WAVETUNE_VLLM_ANY_TRITON=1" in warnings()[0]
    wavetune.vllm.uninstall()
    monkeypatch.setenv("WAVETUNE_VLLM_ANY_TRITON", "1")
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == decided(tuner, 700)


def test_a_table_of_this_triton_is_used_and_one_of_another_compiler_is_not(
    engine, tmp_path, tuner, monkeypatch, warnings
):
    monkeypatch.setattr(wavetune.triton_decider, "triton_version", lambda: "3.6.0")
    assert wavetune.vllm.install(measured_with(tmp_path, "Triton 3.6.0, ptxas 12.8"))
    assert engine.choose(700) == decided(tuner, 700)
    assert not warnings()
    wavetune.vllm.uninstall()
    assert wavetune.vllm.install(measured_with(tmp_path / "other", "NVRTC 13.0"))
    assert engine.choose(700) == DEFAULT
    assert any("it is of another kernel" in warning for warning in warnings())


def test_the_device_is_the_process_s_own(monkeypatch):
    for uuid, known in (("1a2b", "GPU-1a2b"), ("GPU-1a2b", "GPU-1a2b"), ("", None)):
        monkeypatch.setitem(sys.modules, "torch", fake_torch(uuid=uuid))
        assert wavetune.vllm._device_uuid() == known
    monkeypatch.setitem(sys.modules, "torch", None)
    assert wavetune.vllm._device_uuid() is None


@pytest.mark.parametrize(
    "fused_moe, what",
    [
        ("x = 1", "has no try_get_optimal_moe_config"),
        ("def try_get_optimal_moe_config(w1, w2, M): return {}", "takes ('w1', 'w2', 'M')"),
    ],
)
@pytest.mark.parametrize("early", [True, False], ids=["imported_before", "imported_after"])
def test_another_version_of_vllm_is_left_as_it_is(tmp_path, monkeypatch, client, fused_moe, what, warnings, early):
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch, fused_moe=fused_moe)
    try:
        if early:
            engine.module("fused_moe")
        assert wavetune.vllm.install(client) is not early
        engine.module("fused_moe")
        assert not wavetune.vllm.install(client)
        assert len(warnings()) == 1
        assert what in warnings()[0]
        assert "vLLM does as it did" in warnings()[0]
        if fused_moe.startswith("def"):
            assert engine.module("fused_moe").try_get_optimal_moe_config(1, 2, 3) == {}
    finally:
        wavetune.vllm.uninstall()


def test_an_import_that_fails_fails_as_it_did_and_may_succeed_later(tmp_path, monkeypatch, client, tuner, warnings):
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch, fused_moe="raise RuntimeError('no GPU')")
    try:
        assert wavetune.vllm.install(client)
        with pytest.raises(RuntimeError, match="no GPU"):
            engine.module("fused_moe")
        engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch)
        importlib.invalidate_caches()
        assert engine.choose(700) == decided(tuner, 700)
        assert not warnings()
    finally:
        wavetune.vllm.uninstall()


def test_nothing_of_the_engine_is_imported_and_nothing_happens_where_it_never_is(engine, client, warnings):
    before = list(sys.meta_path)
    wavetune.vllm.register()
    assert wavetune.vllm.install(client)
    assert not [name for name in sys.modules if name.split(".")[0] == "vllm"]
    wavetune.vllm.uninstall()
    assert sys.meta_path == before
    assert engine.choose(700) == DEFAULT
    assert not warnings()


def test_it_waits_no_longer_once_the_engine_came(engine, client):
    before = list(sys.meta_path)
    assert wavetune.vllm.install(client)
    assert engine.module("experts.triton_moe").try_get_optimal_moe_config.wavetune_decider
    assert sys.meta_path == before


def test_loading_is_quick_and_takes_no_engine_along(tmp_path, engine):
    """What each process of vLLM pays, its API server's included: measured in one of its own."""
    program = """
import sys, time
begin = time.perf_counter()
import wavetune.vllm
wavetune.vllm.register()
print(time.perf_counter() - begin, *[name for name in sys.modules if name.split(".")[0] in ("vllm", "torch", "triton")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, *engines = done.stdout.split()
    assert not engines
    assert float(seconds) < 3  # A tenth of this on a machine that does nothing else.


@pytest.mark.parametrize("version", ["0.11.2", "0.33.0", "0.20.1rc1.dev5", "dev", "0.34.0", "0.9.1", "1.0"])
def test_a_version_that_was_not_tried_decides_for_itself(engine, client, tuner, warnings, monkeypatch, version):
    tried = version not in ("0.34.0", "0.9.1", "1.0")
    found = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version if name == "vllm" else found(name))
    assert wavetune.vllm.install(client) is tried
    assert engine.choose(700) == (decided(tuner, 700) if tried else DEFAULT)
    if tried:
        assert not warnings()
        return
    assert f"vLLM {version} was not tried" in warnings()[0]
    wavetune.vllm.uninstall()
    monkeypatch.setenv("WAVETUNE_VLLM_ANY_VERSION", "1")
    assert wavetune.vllm.install(client)
    assert engine.choose(700) == decided(tuner, 700)


# ---- The floor --------------------------------------------------------------

FASTEST = dict(BLOCK_SIZE_M=128, BLOCK_SIZE_N=256, BLOCK_SIZE_K=128, GROUP_SIZE_M=16, num_warps=4, num_stages=3)


@pytest.mark.parametrize("more", [{}, {"SPLIT_K": 1}], ids=str)
def test_the_engines_own_stays_where_the_table_is_not_sure_of_more(tmp_path, monkeypatch, client, tuner, more):
    rule = {**FASTEST, **more}
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch, rule=rule)
    try:
        assert wavetune.vllm.install(client)
        choices = {tokens: engine.choose(tokens) for tokens in (1, 16, 700, 8192)}
        assert choices == {tokens: decided(tuner, tokens, rule=rule) for tokens in choices}
        assert choices[8192] == rule  # As it is, whatever else it says.
        assert choices[1] != rule
    finally:
        wavetune.vllm.uninstall()


@pytest.mark.parametrize(
    "rule",
    [
        {**FASTEST, "USE_TMA": True},
        {**FASTEST, "SPLIT_K": 2},
        {**FASTEST, "BLOCK_SIZE_M": 256},
        {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8, "num_stages": None},
        {"BLOCK_SIZE_M": 64},
    ],
    ids=str,
)
def test_the_engines_own_stays_where_the_table_cannot_predict_it(tmp_path, monkeypatch, client, warnings, rule):
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch, rule=rule)
    try:
        assert wavetune.vllm.install(client)
        assert [engine.choose(tokens) for tokens in (1, 700, 8192)] == [rule] * 3
        assert not warnings()
    finally:
        wavetune.vllm.uninstall()


def test_a_file_of_the_engine_is_its_own(tmp_path, monkeypatch, client, tuner):
    folder = tmp_path / "configs"
    folder.mkdir()
    text = json.dumps({"triton_version": "3.6.0", "1": DEFAULT, "4096": FASTEST})
    (folder / "E=128,N=768,device_name=NVIDIA_H200.json").write_text(text)
    monkeypatch.setenv("VLLM_TUNED_CONFIG_FOLDER", str(folder))
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch)
    try:
        assert wavetune.vllm.install(client)
        assert engine.choose(4096) == decided(tuner, 4096, rule=FASTEST) == FASTEST
        assert engine.choose(16) == decided(tuner, 16)
    finally:
        wavetune.vllm.uninstall()


def test_the_environment_turns_it_off_or_says_what_is_wrong(engine, monkeypatch, warnings):
    monkeypatch.setenv("WAVETUNE_VLLM", "off")
    wavetune.vllm.register()
    assert engine.choose(700) == DEFAULT
    monkeypatch.setenv("WAVETUNE_VLLM", "")
    monkeypatch.setenv("WAVETUNE_VLLM_EP", "many")
    wavetune.vllm.register()
    assert engine.choose(700) == DEFAULT
    assert 'WAVETUNE_VLLM_EP is "many"' in warnings()[0]


def test_the_example_shows_both_choices(engine, tmp_path, monkeypatch, capsys, tuner):
    monkeypatch.setenv("WAVETUNE_MODE", "offline")
    monkeypatch.setenv("WAVETUNE_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("WAVETUNE_TABLE_FILE", str(tables.path("fused_moe")))
    monkeypatch.setenv("VLLM_PLUGINS", "")
    monkeypatch.setitem(sys.modules, "torch", None)
    example = runpy.run_path(str(tables.ROOT / "examples" / "vllm_experts.py"))
    layer = ["--experts", "128", "--top-k", "8", "--hidden", "2048", "--intermediate", "768"]
    example["main"]([*layer, "700", "3000"])
    shown = capsys.readouterr().out
    for tokens in (700, 3000):
        assert f"WaveTune  {example['text'](decided(tuner, tokens))}" in shown
    assert f"vLLM      {example['text'](DEFAULT)}" in shown


def test_the_entry_point_is_the_plugin():
    (entry,) = [e for e in importlib.metadata.entry_points(group="vllm.general_plugins") if e.name == "wavetune"]
    assert entry.load() is wavetune.vllm.register


@pytest.mark.parametrize("model", expert_kernel.LAYERS)
def test_an_exported_file_and_the_plugin_choose_alike_at_every_number_of_tokens(tmp_path, monkeypatch, client, model):
    monkeypatch.setattr(wavetune, "engine_rule", lambda engine, tokens, experts: dict(DEFAULT))
    layer = dict(zip(("experts", "top_k", "hidden", "intermediate"), expert_kernel.LAYERS[model]))
    numbers = [text for name, number in layer.items() for text in (f"--{name.replace('_', '-')}", str(number))]
    files = ["--device-name", "NVIDIA H200", "--out", str(tmp_path / "configs")]
    command = [str(expert_kernel.write(tmp_path / "kernel")), "--table", str(tables.path("fused_moe"))]
    assert wavetune.export.main([*command, "--format", "vllm-moe", *numbers, *files]) == 0
    monkeypatch.setenv("VLLM_TUNED_CONFIG_FOLDER", str(tmp_path / "configs"))
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch)
    read = [engine.choose(tokens, **layer) for tokens in range(1, 16385)]
    assert read[8191] != DEFAULT
    monkeypatch.delenv("VLLM_TUNED_CONFIG_FOLDER")
    engine = fake_vllm.FakeVllm(tmp_path / "site", monkeypatch)
    try:
        assert wavetune.vllm.install(client)
        plugged = [engine.choose(tokens, **layer) for tokens in range(1, 16385)]
        assert plugged == read
        assert len({str(choice) for choice in plugged}) > 3
    finally:
        wavetune.vllm.uninstall()
