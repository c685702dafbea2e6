"""wavetune export, read by readers that do what the engines' do: docs/engines.md has their rules."""

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import expert_kernel
import pytest
import tables

import wavetune
from wavetune import engine_files, engine_kernel, experts, export
from wavetune.engine_files import FileKey

MOST = 16384
QWEN3 = ["--experts", "128", "--top-k", "8", "--hidden", "2048", "--intermediate", "768"]
VLLM_NAME = "E=128,N=768,device_name=NVIDIA_H200.json"
SGLANG_FOLDER = "configs/triton_3_6_0"
# Candidates of the golden table: a slow one, and one that is fastest at many token counts.
SLOW = dict(BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP_SIZE_M=16, num_warps=4, num_stages=2)
FAST = dict(BLOCK_SIZE_M=128, BLOCK_SIZE_N=256, BLOCK_SIZE_K=128, GROUP_SIZE_M=16, num_warps=4, num_stages=3)


class Reader:
    """A file as an engine reads it: every key goes through int(), and the entry whose count is nearest is taken, of two
    the one that stands first."""

    def __init__(self, path):
        self.entries = {int(key): value for key, value in json.loads(Path(path).read_text()).items()}

    def at(self, tokens):
        return self.entries[min(self.entries, key=lambda count: abs(count - tokens))]


class Exporter:
    """Runs the command on a kernel's folder and a table that a cache has, as if a daemon had sent it."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder = folder
        self.out = folder / "out"
        self.kernel = expert_kernel.write(folder / "kernel")
        self._capsys = capsys
        monkeypatch.setenv("WAVETUNE_ENDPOINT", f"unix:{folder}/nobody.sock")
        monkeypatch.setenv("WAVETUNE_CACHE_DIR", str(folder / "cache"))
        # An engine whose rule the golden table predicts.
        monkeypatch.setattr(wavetune, "engine_rule", lambda engine, tokens, local: dict(SLOW))
        self.serve()

    def serve(self, device="NVIDIA H200", compiler="", more=b""):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        more += tables.text_field(11, device)
        tables.add_experts_to_cache(self.folder / "cache", compiler, more)

    def run(self, *arguments):
        """Returns the exit code; what was said is in `said`, what was printed in `printed`."""
        try:
            code = export.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        self.printed, self.said = self._capsys.readouterr()
        return code

    def export(self, engine, *more, layer=QWEN3):
        arguments = [self.kernel, "--format", f"{engine}-moe", *layer, "--out", self.out]
        if engine == "sglang":
            arguments += ["--triton-version", "3.6.0"]
        return self.run(*arguments, *more)

    def read(self, name=VLLM_NAME):
        return Reader(self.out / name)


@pytest.fixture
def exporter(tmp_path, monkeypatch, capsys):
    return Exporter(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def tuner(tmp_path_factory):
    client = wavetune.connect(mode="offline", cache_dir=None, table_file=tables.path("fused_moe"))
    return client.tuner("triton_fused_moe", specialisation="gate_up")


def decided(tuner, tokens, own=SLOW, shared=None, layer=expert_kernel.LAYERS["qwen3-30b-a3b"], routing="drawn"):
    """What the table decides where the engine by itself has `own`: for gate_up and down."""
    count, top_k, hidden, intermediate = layer
    slots = experts.expected_routing(count, top_k, routing).slots(tokens)
    problems = [
        ("gate_up", dict(tokens=slots, n=2 * intermediate, k=hidden, top_k=top_k)),
        ("down", dict(tokens=slots, n=hidden, k=intermediate, top_k=top_k)),
    ]
    both = [dict(each.configuration) for each in tuner.resolve_together(problems, incumbent=own)]
    if shared is None or both[0] == own:
        return both
    return [dict(each.configuration) for each in tuner.resolve_together(problems, shared=shared)]


def test_vllm_decides_as_the_table_at_every_number_of_tokens(exporter, tuner):
    assert exporter.export("vllm") == 0, exporter.said
    reader = exporter.read()
    different = set()
    for tokens in range(1, MOST + 1):
        expected = decided(tuner, tokens)[0]
        assert reader.at(tokens) == expected, tokens
        different.add(str(expected))
    assert len(different) > 3, "too few for the test to show much"
    assert reader.at(3 * MOST) == reader.at(MOST)
    assert list(reader.entries) == sorted(reader.entries)
    assert list(reader.entries)[63] == 64
    assert set(reader.at(1)) == set(experts.PARAMETERS)


def test_sglang_decides_both_products_as_the_table(exporter, tuner):
    assert exporter.export("sglang", "--down-file") == 0, exporter.said
    up = exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}")
    down = exporter.read(f"{SGLANG_FOLDER}/E=128,N=768,device_name=NVIDIA_H200_down.json")
    unlike = 0
    for tokens in range(1, MOST + 1, 3):
        first, second = decided(tuner, tokens, shared=["BLOCK_SIZE_M"])
        assert up.at(tokens) == first, tokens
        # SGLang overwrites it; older versions stop where it differs.
        assert down.at(tokens)["BLOCK_SIZE_M"] == first["BLOCK_SIZE_M"], tokens
        assert down.at(tokens) == second, tokens
        unlike += first != second
    assert unlike > 1000 / 3


def test_without_a_down_file_sglang_has_one_configuration_for_both(exporter, tuner):
    assert exporter.export("sglang") == 0, exporter.said
    reader = exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}")
    for tokens in range(1, MOST + 1, 7):
        assert reader.at(tokens) == decided(tuner, tokens)[0], tokens


def test_reads_the_layers_of_a_model(exporter, tuner):
    model = tables.ROOT / "tests/data/models/qwen3-30b-a3b.json"
    code = exporter.run(
        exporter.kernel, "--format", "vllm-moe", "--config", model, "--tp", 2, "--out", exporter.out, "--json"
    )
    assert code == 0, exporter.said
    printed = json.loads(exporter.printed)
    assert printed["digest"] == tuner.digest
    (file,) = printed["files"]
    assert file["path"] == str(exporter.out / "E=128,N=384,device_name=NVIDIA_H200.json")
    assert file["entries"] >= 65


def test_a_model_is_its_file_its_folder_or_its_place_in_a_cache(exporter):
    text = (tables.ROOT / "tests/data/models/qwen3-30b-a3b.json").read_text()
    cache = exporter.folder / "models--Qwen--Qwen3"
    for folder in (exporter.folder / "model", cache / "snapshots" / "abc"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(text)
    (cache / "refs").mkdir()
    (cache / "refs" / "main").write_text("abc\n")
    for given in (exporter.folder / "model", cache):
        assert exporter.export("vllm", "--force", "--max-tokens", 8, layer=["--config", given]) == 0, exporter.said
        assert (exporter.out / VLLM_NAME).exists()
    (cache / "refs" / "main").write_text("gone")
    assert exporter.export("vllm", layer=["--config", cache]) == 1
    assert "snapshots/gone/config.json" in exporter.said


def test_quantised_experts_are_told(exporter):
    config = json.loads((tables.ROOT / "tests/data/models/qwen3-30b-a3b.json").read_text())
    config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    path = exporter.folder / "config.json"
    path.write_text(json.dumps(config))
    assert exporter.export("vllm", "--max-tokens", 8, layer=["--config", path]) == 0, exporter.said
    assert "the model's experts are of fp8" in exporter.said


def test_experts_that_are_spread_have_their_share_of_the_slots(exporter):
    assert exporter.export("vllm", "--ep", 4) == 0, exporter.said
    spread = exporter.read("E=32,N=768,device_name=NVIDIA_H200.json")
    assert max(spread.entries) == MOST
    # The 32 experts here have what 32 of 128 have.
    assert sum(experts.expected_routing(128, 8).slots(4096, 32)) == pytest.approx(4096 * 8 / 4, rel=0.1)


def test_a_kernel_that_the_engine_does_not_launch_is_refused_with_reasons(exporter):
    only_sglang = ('engines: "vllm" engines: "sglang"', 'engines: "sglang"')
    expert_kernel.write(exporter.kernel, engines=only_sglang, parameter=('"GROUP_SIZE_M in', '"SPLIT_K_OF_M in'))
    path = exporter.folder / "moe.table"
    path.write_bytes(tables.path("fused_moe").read_bytes().replace(b"GROUP_SIZE_M", b"SPLIT_K_OF_M"))
    assert exporter.export("vllm", "--table", path, "--device-name", "NVIDIA H200") == 1
    assert 'engines: "vllm"' in exporter.said
    assert "no parameter GROUP_SIZE_M" in exporter.said
    assert "the parameter SPLIT_K_OF_M, which vllm's kernel does not take" in exporter.said
    assert "--format json" in exporter.said
    assert not exporter.out.exists()


def test_a_kernel_that_computes_no_experts_is_refused(exporter):
    expert_kernel.write(exporter.kernel, serves=(expert_kernel.SERVES, ""))
    assert exporter.export("sglang") == 1
    assert "serves { moe { ... } }" in exporter.said


def beside(exporter, **changes):
    """Puts the table below the kernel's folder, as those that are shipped lie, and names the kernel."""
    expert_kernel.write(exporter.kernel, **changes)
    (exporter.kernel / "tables").mkdir(exist_ok=True)
    path = exporter.kernel / "tables" / "h200.table"
    shutil.copy(tables.path("fused_moe"), path)
    exporter.kernel = "triton_fused_moe"
    return ["--table", path, "--device-name", "NVIDIA H200"]


def test_a_table_of_another_version_of_the_kernel_is_refused(exporter):
    table = beside(exporter, dimension=('{ name: "n" }', '{ name: "n" max: 4096 }'),
                   product=('specialisations { name: "down" }', 'specialisations { name: "out" }'),
                   serves=("serves { moe {", 'serves { moe { down: "out"'))  # fmt: skip
    assert exporter.export("vllm", *table) == 1, exporter.said
    assert "another version" in exporter.said
    assert 'nothing for specialisation "out"' in exporter.said


def test_a_folder_that_does_not_allow_what_the_table_chooses_is_refused(exporter):
    expert_kernel.write(exporter.kernel, parameter=("BLOCK_SIZE_M in {16, 32, 64, 128}", "BLOCK_SIZE_M in {16, 64}"))
    assert exporter.export("vllm") == 1
    assert "does not allow what it answers" in exporter.said


def test_the_manifest_beside_a_table_in_a_file_says_what_a_name_is(exporter):
    assert exporter.export("vllm", *beside(exporter)) == 0, exporter.said


def test_a_table_of_another_device_is_refused(exporter):
    h100 = ["--device-name", "NVIDIA H100 80GB HBM3"]
    assert exporter.export("vllm", *h100) == 1
    assert 'measured on "NVIDIA H200"' in exporter.said
    assert "--other-device" in exporter.said
    assert exporter.export("vllm", *h100, "--other-device") == 0, exporter.said
    assert (exporter.out / "E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json").exists()
    # Of one family to vLLM.
    assert exporter.export("vllm", "--device-name", "NVIDIA H200 NVL") == 0, exporter.said


def test_a_table_in_a_file_needs_the_devices_name_and_is_compared_by_memory(exporter):
    table = ["--table", tables.path("fused_moe")]
    assert exporter.export("vllm", *table) == 2
    assert "--device-name is missing" in exporter.said
    assert exporter.export("vllm", *table, "--device-name", "NVIDIA H100 80GB HBM3") == 1
    assert "memory_mib=143771" in exporter.said
    # Whatever a name says, it is compared or left.
    assert exporter.export("vllm", *table, "--device-name", "X 9223372036854775807GB") == 0, exporter.said
    assert exporter.export("vllm", *table, "--device-name", "NVIDIA H200") == 0, exporter.said


def test_odd_device_names_say_what_other_versions_look_for(exporter):
    exporter.serve(device="Quadro RTX 6000/8000")
    assert exporter.export("vllm") == 0, exporter.said
    assert (exporter.out / "E=128,N=768,device_name=Quadro_RTX_6000_8000.json").exists()
    assert "device_name=Quadro_RTX_6000/8000.json" in exporter.said
    assert exporter.export("sglang") == 0, exporter.said
    assert (exporter.out / SGLANG_FOLDER / "E=128,N=768,device_name=Quadro_RTX_6000" / "8000.json").exists()


def test_what_is_there_is_replaced_only_with_force(exporter):
    assert exporter.export("vllm") == 0, exporter.said
    path = exporter.out / VLLM_NAME
    path.write_text("{}")
    assert exporter.export("vllm") == 1
    assert "--force" in exporter.said
    assert path.read_text() == "{}"
    assert exporter.export("vllm", "--force") == 0, exporter.said
    assert len(Reader(path).entries) > 64
    assert [each.name for each in exporter.out.iterdir()] == [VLLM_NAME]


def test_options_that_do_not_go_together_are_refused(exporter):
    assert exporter.export("vllm", "--down-file") == 2
    assert "SGLang's" in exporter.said
    assert exporter.export("vllm", "--block-shape", 128) == 2
    assert "128,128" in exporter.said
    assert exporter.export("vllm", "--config", "x.json") == 2
    assert "not both" in exporter.said
    assert exporter.export("vllm", "--tp", 5) == 2
    assert exporter.export("vllm", "--max-tokens", 0) == 2
    assert exporter.export("vllm", layer=["--experts", 128]) == 2
    assert "--top-k is missing" in exporter.said
    assert exporter.run(exporter.kernel, "--format", "vllm-moe", *QWEN3) == 2
    assert "--out is missing: the folder that VLLM_TUNED_CONFIG_FOLDER names" in exporter.said
    assert exporter.run(exporter.kernel, "--format", "sglang-moe", "--out", exporter.out) == 2
    assert "--triton-version is missing" in exporter.said
    dense = tables.ROOT / "tests/data/models/qwen3-8b.json"
    assert exporter.export("vllm", layer=["--config", dense]) == 2
    assert "without experts" in exporter.said
    assert exporter.export("vllm", layer=["--config", exporter.folder / "none.json"]) == 1


def test_a_layer_that_the_table_cannot_decide_is_refused(exporter):
    layer = [*QWEN3[:3], "65", *QWEN3[4:]]  # --top-k
    assert exporter.export("vllm", layer=layer) == 2
    assert "a token takes 65 of 128 experts" in exporter.said


def test_a_stale_table_is_exported_with_a_warning_a_withdrawn_one_is_not(exporter, tuner):
    exporter.serve(more=tables.number_field(9, 1) + tables.text_field(16, "driver 580, now 590"))
    assert exporter.export("vllm") == 0
    assert "stale (driver 580, now 590)" in exporter.said
    (exporter.folder / "cache" / f"{tuner.digest}.withdrawn").write_text("wrong at m = 3")
    assert exporter.export("vllm", "--force") != 0
    assert "was withdrawn: wrong at m = 3" in exporter.said


def test_a_folder_of_another_triton_than_the_tables_is_warned_of(exporter):
    exporter.serve(compiler="Triton 3.6.0, ptxas 12.8.93")
    assert exporter.export("sglang") == 0
    assert "not with Triton" not in exporter.said
    exporter.serve(compiler="Triton 3.6.1, ptxas 12.8.93")
    assert exporter.export("sglang", "--force") == 0
    assert "measured with Triton 3.6.1, ptxas 12.8.93, not with Triton 3.6.0" in exporter.said


def test_files_for_a_type_that_the_kernel_has_not_are_warned_of(exporter):
    typed = 'arguments: "in a[n, k] bfloat16, top_k int32"'
    expert_kernel.write(exporter.kernel, arguments=('arguments: "top_k int32"', typed))
    assert exporter.export("vllm", "--dtype", "fp8_w8a8") == 0, exporter.said
    assert "measured with bfloat16, and the engine reads these files for fp8_w8a8" in exporter.said
    assert exporter.export("vllm") == 0
    assert "bfloat16" not in exporter.said


def test_a_digest_is_that_of_the_table_that_serves_or_all_of_another(exporter, tuner):
    assert exporter.export("vllm", "--digest", tuner.digest[:12]) == 0, exporter.said
    assert exporter.export("vllm", "--force", "--digest", tuner.digest) == 0, exporter.said
    assert exporter.export("vllm", "--digest", "0123456789ab") == 1
    assert "all 64 digits" in exporter.said
    assert exporter.export("vllm", "--digest", "0" * 64) != 0


def test_says_what_to_do_where_there_is_no_table_or_no_kernel(exporter):
    exporter.kernel = "triton_fused_moe"
    assert exporter.export("vllm") == 3
    assert "give the kernel's folder" in exporter.said
    shutil.rmtree(exporter.folder / "cache")
    assert exporter.export("vllm") == 3
    assert "cannot be reached" in exporter.said
    table = ["--table", tables.path("gemm"), "--device-name", "NVIDIA H200"]
    assert exporter.export("vllm", *table) == 1
    assert "wavetune reprofile --kernel triton_fused_moe" in exporter.said
    exporter.kernel = exporter.folder / "nowhere"
    assert exporter.export("vllm") == 3 or "nowhere" in exporter.said


def test_bytes_that_are_no_table_are_refused(exporter):
    (exporter.folder / "bad.table").write_text("not a table")
    assert exporter.export("vllm", "--table", exporter.folder / "bad.table") == 2
    assert "is no table" in exporter.said


# ---- The floor --------------------------------------------------------------


def ship(exporter, engine, files):
    """Makes a folder of an engine's files, as it ships them; returns the option that names it."""
    folder = exporter.folder / f"{engine}-configs"
    for name, entries in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return ["--engine-configs", folder]


def nearest(entries, tokens):
    return entries[min(entries, key=lambda count: abs(int(count) - tokens))]


def test_the_engines_rule_stays_where_the_table_cannot_predict_it(exporter, monkeypatch):
    monkeypatch.setattr(wavetune, "engine_rule", wavetune._native.engine_rule)
    assert exporter.export("vllm") == 0, exporter.said
    reader = exporter.read()
    assert all(reader.at(tokens) == wavetune.engine_rule("vllm", tokens, 128) for tokens in range(1, MOST + 1, 5))
    assert f"the engine's own at {MOST} of {MOST} token counts" in exporter.printed
    assert f"at {MOST} of {MOST} token counts the table has no prediction" in exporter.said


def test_a_table_that_dropped_sglangs_rules_decides_in_their_place(exporter, monkeypatch):
    monkeypatch.setattr(wavetune, "engine_rule", wavetune._native.engine_rule)
    assert exporter.export("sglang") == 0, exporter.said
    assert f"the engine's own at 0 of {MOST} token counts" in exporter.printed
    assert "no prediction" not in exporter.said


def test_what_the_engine_ships_stays_where_no_gain_over_it_is_sure(exporter, tuner):
    entries = {"triton_version": "3.6.0", "1": SLOW, "512": {**FAST, "SPLIT_K": 1}, "2048": FAST}
    assert exporter.export("vllm", *ship(exporter, "vllm", {VLLM_NAME: entries}), "--json") == 0, exporter.said
    assert f"{VLLM_NAME} is what the engine has by itself" in exporter.said
    (listed,) = json.loads(exporter.printed)["files"]
    reader, kept = exporter.read(), 0
    del entries["triton_version"]
    for tokens in range(1, MOST + 1):
        own = nearest(entries, tokens)
        known = {name: own[name] for name in tuner.parameters}
        expected = decided(tuner, tokens, known)[0]
        kept += expected == known
        assert reader.at(tokens) == (own if expected == known else expected), tokens
    assert listed["kept"] == kept > 1000


def test_entries_of_another_kind_are_kept_whole_with_their_down_product(exporter, tuner):
    """SGLang's TMA: what makes both products agree is in both files, so an entry of either is from one source."""
    up = {"1": SLOW, "1024": {**FAST, "USE_TMA": False}, "4096": {**FAST, "USE_TMA": True}}
    down = {"1": SLOW, "64": {**SLOW, "BLOCK_SIZE_N": 128}, "8192": {**FAST, "BLOCK_SIZE_N": 128, "USE_TMA": True}}
    name = f"triton_3_6_0/{VLLM_NAME}"
    shipped = ship(exporter, "sglang", {name: up, name.replace(".json", "_down.json"): down})
    assert exporter.export("sglang", *shipped) == 0, exporter.said
    readers = [exporter.read(f"configs/{each}") for each in (name, name.replace(".json", "_down.json"))]
    assert list(readers[0].entries) == list(readers[1].entries)
    from_table = from_engine = 0
    for tokens in range(1, MOST + 1, 3):
        own = nearest(up, tokens), nearest(down, tokens)
        own_down = {**own[1], "BLOCK_SIZE_M": own[0]["BLOCK_SIZE_M"]}
        got = [reader.at(tokens) for reader in readers]
        if own[0] == SLOW == own_down:
            assert got == decided(tuner, tokens), tokens
            from_table += got[0] != SLOW
        else:  # Two configurations, or what no table knows.
            assert got == [own[0], own_down], tokens
            from_engine += 1
    assert from_table and from_engine > 1000


def test_an_up_file_with_tma_alone_has_it_for_both_products_as_before(exporter):
    name = f"triton_3_6_0/{VLLM_NAME}"
    assert exporter.export("sglang", *ship(exporter, "sglang", {name: {"1": {**FAST, "USE_TMA": True}}})) == 0
    assert exporter.read(f"configs/{name}").at(700) == {**FAST, "USE_TMA": True}
    assert not (exporter.out / "configs" / name.replace(".json", "_down.json")).exists()


# A kernel that has USE_TMA, and the table that is shipped with it.
WITH_TMA = tables.ROOT / "kernels" / "triton_fused_moe_tma"
WITH_TMA_TABLE = ["--table", WITH_TMA / "tables" / "h200.table", "--device-name", "NVIDIA H200"]


def tma(exporter, monkeypatch, *more):
    """Exports them for SGLang, whose rule is its own."""
    monkeypatch.setattr(wavetune, "engine_rule", wavetune._native.engine_rule)
    exporter.kernel = WITH_TMA
    return exporter.export("sglang", *WITH_TMA_TABLE, "--max-tokens", 8192, "--force", *more)


def test_tma_is_decided_for_both_products_and_written_as_sglang_does(exporter, monkeypatch):
    assert tma(exporter, monkeypatch) == 0, exporter.said
    assert "versions of SGLang before 0.5.23" in exporter.said
    names = [f"{SGLANG_FOLDER}/{VLLM_NAME}", f"{SGLANG_FOLDER}/{VLLM_NAME}".replace(".json", "_down.json")]
    up, down = (exporter.read(name) for name in names)
    assert list(up.entries) == list(down.entries)
    client = wavetune.connect(mode="offline", cache_dir=None, table_file=WITH_TMA_TABLE[1])
    tuner = client.tuner("triton_fused_moe_tma", specialisation="gate_up")
    for tokens in (1, 30, 700, 2000, 4096, 8192):
        for entry, expected in zip((up.at(tokens), down.at(tokens)), decided(tuner, tokens, None)):
            with_tma = expected.pop("USE_TMA")
            assert entry == {**expected, **({"USE_TMA": True} if with_tma else {})}, tokens
    assert "USE_TMA" not in up.at(1) and up.at(4096)["USE_TMA"] is True is down.at(8192)["USE_TMA"]


def test_an_entry_with_tma_is_a_floor_that_a_table_with_tma_predicts(exporter, monkeypatch):
    own = dict(BLOCK_SIZE_M=128, BLOCK_SIZE_N=256, BLOCK_SIZE_K=64, GROUP_SIZE_M=16, num_warps=8, num_stages=4)
    own["USE_TMA"] = True
    name = f"triton_3_6_0/{VLLM_NAME}"
    down = name.replace(".json", "_down.json")
    assert tma(exporter, monkeypatch, *ship(exporter, "sglang", {name: {"1": own}, down: {"1": own}})) == 0, exporter.said
    reader = exporter.read(f"configs/{name}")
    assert reader.at(4096) == own
    assert reader.at(8)["BLOCK_SIZE_M"] == 16, "tiles of 128 rows for single tokens are replaced"
    assert "no prediction" not in exporter.said


@pytest.mark.parametrize("code, status", [("up_moe_use_tma = True", 0), ("down_moe_use_tma = True", 1)])
def test_an_sglang_that_takes_tma_in_downs_file_alone_is_refused(exporter, monkeypatch, code, status):
    folder = install(exporter, monkeypatch, "sglang", "srt/layers/moe/moe_runner/triton_utils/configs", "0.5.9")
    (folder.parent / "fused_moe.py").write_text(code)
    (folder / "triton_3_6_0").mkdir()
    (folder / "triton_3_6_0" / "E=7,N=7,device_name=NVIDIA_H200.json").write_text(json.dumps({"1": FAST}))
    assert tma(exporter, monkeypatch) == status, exporter.said
    assert ("triton_fused_moe), or update SGLang" in exporter.said) == (status == 1)


def test_vllm_takes_no_kernel_with_tma(exporter):
    exporter.kernel = WITH_TMA
    assert exporter.export("vllm", *WITH_TMA_TABLE) == 1
    assert "USE_TMA" in exporter.said and "does not say that vllm launches it" in exporter.said


def test_what_sglang_ships_is_copied_beside_as_its_folder_is_hidden(exporter, tuner):
    other = "triton_3_4_0/E=64,N=1280,device_name=NVIDIA_H200.json"
    older = "triton_3_4_0/" + VLLM_NAME
    there = "triton_3_6_0/E=8,N=7168,device_name=NVIDIA_H200.json"
    shipped = ship(exporter, "sglang", {other: {"1": FAST}, older: {"1": FAST}, there: {"1": FAST}, "gemm.json": {}})
    (exporter.out / "configs" / there).parent.mkdir(parents=True)
    (exporter.out / "configs" / there).write_text("mine")
    assert exporter.export("sglang", *shipped) == 0, exporter.said
    assert "SGLANG_MOE_CONFIG_DIR hides the files that SGLang ships: 2 of them were copied" in exporter.said
    assert exporter.read(f"configs/{other}").entries == {1: FAST}
    assert (exporter.out / "configs" / there).read_text() == "mine"
    # That of an older Triton is what SGLang would use here.
    reader = exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}")
    assert reader.at(8192) == FAST == decided(tuner, 8192, FAST)[0]
    assert exporter.read(f"configs/{older}").entries == {1: FAST}
    # As SGLANG_MOE_CONFIG_DIR names it, and vLLM has no such folder.
    again = ship(exporter, "again", {f"configs/{other}": {"1": FAST}})
    assert exporter.export("sglang", "--force", *again) == 0, exporter.said


def test_with_a_down_file_products_part_only_where_the_table_decides(exporter, tuner):
    assert (
        exporter.export("sglang", "--down-file", *ship(exporter, "sglang", {f"triton_3_6_0/{VLLM_NAME}": {"1": FAST}}))
        == 0
    )
    up = exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}")
    down = exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME.replace('.json', '_down.json')}")
    for tokens in range(1, MOST, 13):
        assert [up.at(tokens), down.at(tokens)] == decided(tuner, tokens, FAST, ["BLOCK_SIZE_M"]), tokens


@pytest.mark.parametrize(
    "files, said",
    [
        ({VLLM_NAME: "{"}, "is no file of configurations"),
        ({VLLM_NAME: "[]"}, "is no file of configurations"),
        ({VLLM_NAME: {"many": FAST}}, "is no file of configurations"),
        ({VLLM_NAME: {"1": {"BLOCK_SIZE_N": 1}}}, "is no file of configurations"),
        ({VLLM_NAME: {}}, "is no file of configurations"),
        ({VLLM_NAME: "[" * 100_000}, "is no file of configurations"),
        (
            {VLLM_NAME.replace("H200", device): {"1": FAST} for device in ("H100_80GB_HBM3", "B200")},
            "has this layer for NVIDIA_B200, NVIDIA_H100_80GB_HBM3, not for this device",
        ),
        ({VLLM_NAME.replace("E=128", "E=64"): {"1": FAST}}, ""),
        ({VLLM_NAME.replace(".json", ",dtype=fp8_w8a8.json"): {"1": FAST}}, ""),
    ],
)
def test_a_folder_without_the_layers_file_or_with_a_broken_one_leaves_the_rule(exporter, tuner, files, said):
    assert exporter.export("vllm", *ship(exporter, "vllm", files)) == 0, exporter.said
    assert said in exporter.said
    assert not said or "rule is what decisions are compared with" in exporter.said
    assert exporter.read().at(8192) == decided(tuner, 8192)[0]


@pytest.mark.parametrize("files", [{}, {"readme.txt": "x"}, {f"triton_3_6_0/{VLLM_NAME}": {"1": FAST}}])
def test_a_folder_without_any_of_the_engines_files_is_refused(exporter, files):
    assert exporter.export("vllm", *ship(exporter, "vllm", files)) == 2
    assert "vllm/model_executor/layers/fused_moe/configs" in exporter.said
    assert not exporter.out.exists()


def install(exporter, monkeypatch, engine, folder, version):
    """An engine beside the package: a folder that is found, and stops who imports it."""
    site = exporter.folder / "site"
    files = {
        f"{engine}/__init__.py": "raise SystemError",
        f"{engine}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {engine}\nVersion: {version}\n",
    }
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    if folder is not None:
        (site / engine / folder).mkdir(parents=True)
    monkeypatch.syspath_prepend(site)
    for name in [name for name in sys.modules if name.split(".")[0] == engine]:
        monkeypatch.delitem(sys.modules, name)
    return site / engine / (folder or "")


def test_the_folder_of_an_engine_that_is_installed_is_found_without_importing_it(exporter, tuner, monkeypatch):
    folder = install(exporter, monkeypatch, "vllm", "model_executor/layers/fused_moe/configs", "0.33.0")
    (folder / VLLM_NAME).write_text(json.dumps({"1": FAST}))
    assert exporter.export("vllm") == 0, exporter.said
    assert f"{folder / VLLM_NAME} is what the engine has by itself" in exporter.said
    assert "not tried" not in exporter.said
    assert exporter.read().at(8192) == FAST == decided(tuner, 8192, FAST)[0]
    folder = install(exporter, monkeypatch, "sglang", "srt/layers/moe/fused_moe_triton/configs", "0.5.2")
    (folder / "triton_3_6_0").mkdir()
    (folder / "triton_3_6_0" / VLLM_NAME).write_text(json.dumps({"1": FAST}))
    assert exporter.export("sglang") == 0, exporter.said
    assert exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}").at(8192) == FAST


def test_an_engine_of_a_version_that_was_not_tried_is_told(exporter, tuner, monkeypatch):
    folder = install(exporter, monkeypatch, "vllm", "model_executor/layers/fused_moe/configs", "0.40.1")
    (folder / VLLM_NAME).write_text(json.dumps({"1": FAST}))
    assert exporter.export("vllm") == 0, exporter.said
    assert "vllm 0.40.1 was not tried (0.11 to 0.33 were)" in exporter.said
    assert exporter.read().at(8192) == decided(tuner, 8192, FAST)[0]


def test_an_engine_that_has_its_files_elsewhere_leaves_its_rule(exporter, tuner, monkeypatch):
    install(exporter, monkeypatch, "sglang", None, "0.6.0")
    assert exporter.export("sglang") == 0, exporter.said
    assert "has no file of sglang's configurations" in exporter.said and "--engine-configs" in exporter.said
    assert exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}").at(8192) == decided(tuner, 8192)[0]


def test_an_engine_that_is_not_there_is_told(exporter):
    assert exporter.export("sglang") == 0, exporter.said
    assert "SGLang is not installed beside this package" in exporter.said
    assert "SGLANG_MOE_CONFIG_DIR hides them" in exporter.said


# ---- The engine's own kernel ------------------------------------------------


def ask(monkeypatch, answer):
    """Lets `answer` say what the engine's kernel does not compile; returns what is asked."""
    asked = []

    def uncompiled(engine, layer, launches, control, architecture, root):
        asked.append((engine, layer, architecture, control, root))
        return answer(launches)

    monkeypatch.setattr(engine_kernel, "root_of", lambda engine, folder: folder or Path("/installed"))
    monkeypatch.setattr(engine_kernel, "uncompiled", uncompiled)
    return asked


def test_what_the_engines_kernel_does_not_compile_is_left_to_it(exporter, tuner, monkeypatch):
    def answer(launches):
        assert all(launch.gate_up == decided(tuner, launch.tokens)[0] for launch in launches)
        return {place: "RuntimeError: PassManager::run failed" for place, own in enumerate(launches) if own.gate_up == FAST}

    asked = ask(monkeypatch, answer)
    assert exporter.export("vllm") == 0, exporter.said
    shape = engine_kernel.Layer(experts=128, intermediate=768, hidden=2048, top_k=8)
    assert [own[:3] for own in asked] == [("vllm", shape, 90)]
    assert asked[0][3].gate_up == asked[0][3].down == SLOW
    reader, left = exporter.read(), 0
    for tokens in range(1, MOST + 1):
        expected = decided(tuner, tokens)[0]
        left += expected == FAST
        assert reader.at(tokens) == (SLOW if expected == FAST else expected), tokens
    assert left > 1000
    assert "vLLM's kernel does not compile 1 of" in exporter.said
    assert f"(RuntimeError: PassManager::run failed): the engine's own stands at {left} token counts" in exporter.said


def test_a_kernel_that_nobody_can_ask_leaves_what_was_decided(exporter, tuner, monkeypatch):
    def answer(launches):
        raise engine_kernel.CannotTell("Triton is not installed")

    ask(monkeypatch, answer)
    assert exporter.export("sglang") == 0, exporter.said
    assert "whether SGLang's kernel compiles what is exported was not found out: Triton is not installed" in exporter.said
    assert exporter.read(f"{SGLANG_FOLDER}/{VLLM_NAME}").at(8192) == decided(tuner, 8192)[0]
    # Files of other types are read for other programs of it.
    exporter.export("vllm", "--dtype", "fp8_w8a8")
    assert "was not found out" not in exporter.said


# ---- Routing ----------------------------------------------------------------


def test_a_routing_that_is_named_decides(exporter, tuner):
    assert exporter.export("vllm", "--routing", "even") == 0, exporter.said
    reader = exporter.read()
    for tokens in (1, 700, 4096):
        assert reader.at(tokens) == decided(tuner, tokens, routing="even")[0]
    counts = [1000, 500] + [1] * 126
    (exporter.folder / "counts.json").write_text(json.dumps(counts))
    assert exporter.export("vllm", "--force", "--routing", exporter.folder / "counts.json") == 0, exporter.said
    skewed, unlike = exporter.read(), 0
    for tokens in range(1, 2000, 23):
        expected = decided(tuner, tokens, routing=tuple(sorted(counts, reverse=True)))[0]
        assert skewed.at(tokens) == expected
        unlike += expected != reader.at(tokens)
    assert unlike


@pytest.mark.parametrize(
    "text, said",
    [
        ("[1, 2, 3]", "experts"),
        (json.dumps([0] * 128), "zero"),
        (json.dumps([-1] * 128), "count"),
        ("{", "routing.json"),
        (json.dumps(["many"] * 128), "count"),
    ],
)
def test_a_histogram_of_other_experts_or_of_nothing_is_refused(exporter, text, said):
    path = exporter.folder / "routing.json"
    path.write_text(text)
    assert exporter.export("vllm", "--routing", path) == 2
    assert said in exporter.said
    assert exporter.export("vllm", "--routing", exporter.folder / "none.json") == 2
    assert "neither drawn nor even" in exporter.said
    assert not exporter.out.exists()


def test_a_histogram_of_very_many_tokens_is_one(exporter):
    path = exporter.folder / "routing.json"
    path.write_text(json.dumps([10**9] * 64 + [10**6] * 64))
    assert exporter.export("vllm", "--routing", path, "--max-tokens", 100) == 0, exporter.said


# ---- Triton and JSON --------------------------------------------------------


def run_triton_module(text):
    class Config:
        def __init__(self, kwargs, **options):
            self.all = {**kwargs, **options}

    names = {"triton": type("triton", (), {"Config": Config})}
    exec(text.replace("import triton\n", ""), names)
    return names


def test_triton_gets_the_default_and_the_portfolio(exporter, tuner):
    assert exporter.run(exporter.kernel, "--format", "triton-autotune") == 0, exporter.said
    names = run_triton_module(exporter.printed)
    assert names["KERNEL"] == "triton_fused_moe"
    assert names["DIGEST"] == tuner.digest
    assert names["CONFIGS"][0] is names["DEFAULT"]
    assert names["DEFAULT"].all == dict(tuner.default_configuration)
    assert {frozenset(config.all) for config in names["CONFIGS"]} == {frozenset(experts.PARAMETERS)}
    # 32 different candidates, of which each product has 28, and the default.
    assert len({str(config.all) for config in names["CONFIGS"]}) == len(names["CONFIGS"]) == 33
    assert "num_warps=4, num_stages=3)" in exporter.printed
    out = exporter.folder / "configs.py"
    one = ["--format", "triton-autotune", "--specialisation", "down", "--out", out]
    assert exporter.run(exporter.kernel, *one) == 0, exporter.said
    assert len(run_triton_module(out.read_text())["CONFIGS"]) == 29
    assert exporter.run(exporter.kernel, *one) == 1
    assert "--force" in exporter.said
    assert exporter.run(exporter.kernel, "--format", "triton-autotune", "--specialisation", "sideways") == 1
    assert "it has: down, gate_up" in exporter.said


def test_no_limit_of_registers_is_no_option_of_triton():
    text = export._config_text({"BLOCK": 64, "maxnreg": 0, "num_warps": 4})
    assert text == 'triton.Config({"BLOCK": 64}, num_warps=4)'
    assert export._config_text({"maxnreg": 16, "num_warps": 4}) == "triton.Config({}, maxnreg=16, num_warps=4)"


def test_a_kernel_without_tritons_options_is_no_list_for_triton(exporter):
    assert exporter.run("random", "--format", "triton-autotune", "--table", tables.path("gemm")) == 1
    assert "neither num_warps nor num_stages" in exporter.said


def test_json_has_the_decisions_of_a_grid_and_their_table(exporter, gemm):
    command = ["random", "--format", "json", "--table", tables.path("gemm")]
    assert exporter.run(*command, "m=1,64,4096", "n=512", "k=0,512") == 2
    assert exporter.run(*command, "m=1,64,4096", "n=512", "size=1") == 2
    assert exporter.run(*command, "m=1,64,4096", "n=512") == 2
    assert exporter.run(*command, "m") == 2
    assert exporter.run(*command, "m=1,64,4096", "n=512", "k=512,2048") == 0, exporter.said
    result = json.loads(exporter.printed)
    assert result["format"] == "wavetune-decisions-1"
    assert result["digest"] == gemm.digest
    assert result["parameters"] == list(gemm.parameters)
    assert result["fingerprint"] == tables.fingerprint("gemm")
    assert result["silicon"] == tables.SILICON
    assert [each["name"] for each in result["dimensions"]] == ["m", "n", "k"]
    first, *_, last = result["decisions"]
    assert len(result["decisions"]) == 6
    assert first["problem"] == dict(m=1, n=512, k=512)
    assert first["latency_us"] == gemm.resolve(m=1, n=512, k=512).latency_us
    assert last["problem"] == dict(m=4096, n=512, k=2048)
    many = ",".join(str(extent) for extent in range(1, 400))
    assert exporter.run(*command, f"m={many}", f"n={many}", "k=1") == 1
    assert "name fewer extents" in exporter.said


def test_json_has_every_specialisation_and_repeated_dimensions(exporter, tuner):
    problem = ["tokens=16,16", "n=1024", "k=1024", "top_k=2"]
    assert exporter.run(exporter.kernel, "--format", "json", *problem) == 0, exporter.said
    decisions = json.loads(exporter.printed)["decisions"]
    assert [each["problem"]["specialisation"] for each in decisions] == ["down", "gate_up"]
    expected = tuner.resolve(tokens=[16, 16], n=1024, k=1024, top_k=2)
    assert decisions[1]["configuration"] == dict(expected.configuration)
    assert exporter.run(exporter.kernel, "--format", "json", *problem, "specialisation=down") == 0
    assert len(json.loads(exporter.printed)["decisions"]) == 1


def test_json_of_a_layer_has_both_products(exporter):
    assert exporter.run(exporter.kernel, "--format", "json", *QWEN3) == 0, exporter.said
    (layer,) = json.loads(exporter.printed)["layers"]
    assert layer["local_experts"] == 128
    last = layer["decisions"][-1]
    assert last["tokens"] == MOST
    assert last["gate_up"]["configuration"] == last["down"]["configuration"]
    assert exporter.run(exporter.kernel, "--format", "json") == 2
    assert "name the problems" in exporter.said


def test_json_of_a_layer_needs_a_table_of_this_version_of_the_kernel(exporter):
    kernel = exporter.kernel
    table = beside(exporter, dimension=('{ name: "n" }', '{ name: "n" max: 4096 }'))
    assert exporter.run("triton_fused_moe", "--format", "json", *QWEN3, *table) == 1
    assert "decides for no expert layer" in exporter.said
    assert "another version" in exporter.said
    expert_kernel.write(kernel, serves=(expert_kernel.SERVES, ""))
    assert exporter.run("triton_fused_moe", "--format", "json", *QWEN3, *table) == 1
    assert "serves { moe { ... } }" in exporter.said
    assert "name problems instead" in exporter.said


# ---- Names and keys ---------------------------------------------------------


def qwen3_on(device, **more):
    return FileKey(experts=128, intermediate=768, device_name=device, **more)


def sglang(key):
    return engine_files.sglang_file_path(key, "3.6.0")


@pytest.mark.parametrize(
    "device, vllm, older, sglangs",
    [
        ("NVIDIA H100 80GB HBM3", "NVIDIA_H100_80GB_HBM3", [], "NVIDIA_H100_80GB_HBM3"),
        # One name for all of the family, which earlier versions and SGLang do not have.
        ("NVIDIA H200 NVL", "NVIDIA_H200", ["NVIDIA_H200_NVL"], "NVIDIA_H200_NVL"),
        ("NVIDIA GH200 480GB", "NVIDIA_GH200_480GB", [], "NVIDIA_GH200_480GB"),
        ("Quadro RTX  6000 / 8000", "Quadro_RTX_6000_8000", ["Quadro_RTX__6000_/_8000"], "Quadro_RTX__6000_/_8000"),
        ("摩尔 S4000", "摩尔_S4000", [], "摩尔_S4000"),
        # A blank that is not ASCII is one, too; SGLang leaves it.
        ("GPU\u00a0X\u3000Y", "GPU_X_Y", ["GPU\u00a0X\u3000Y"], "GPU\u00a0X\u3000Y"),
    ],
)
def test_names_of_devices_are_written_as_each_engine_does(device, vllm, older, sglangs):
    key = qwen3_on(device)
    assert engine_files.vllm_file_name(key) == f"E=128,N=768,device_name={vllm}.json"
    assert engine_files.older_vllm_file_names(key) == [f"E=128,N=768,device_name={name}.json" for name in older]
    assert sglang(key) == f"configs/triton_3_6_0/E=128,N=768,device_name={sglangs}.json"


def test_types_and_block_shapes_are_written_as_each_engine_does():
    key = qwen3_on("NVIDIA H200", dtype="fp8_w8a8", block_shape=(128, 128))
    name = "E=128,N=768,device_name=NVIDIA_H200,dtype=fp8_w8a8"
    assert engine_files.vllm_file_name(key) == f"{name},block_shape=[128,128].json"
    assert sglang(key) == f"configs/triton_3_6_0/{name},block_shape=[128, 128].json"
    key = key._replace(block_shape=(), per_channel_quant=True, down=True)
    assert sglang(key) == f"configs/triton_3_6_0/{name},per_channel_quant=True_down.json"


def test_vllm_counts_weights_of_four_bits_and_sglang_their_pairs():
    key = qwen3_on("NVIDIA H200", dtype="int4_w4a16")
    assert "N=768," in engine_files.vllm_file_name(key)
    assert "N=384," in sglang(key)


@pytest.mark.parametrize(
    "device, why",
    [
        ("", "--device-name"),
        ("a\x01", "control characters"),
        (os.fsdecode(b"a\xc3"), "UTF-8"),
        ("x" * 300, "too long"),
    ],
)
def test_names_that_no_file_can_have_are_refused(device, why):
    for name in (engine_files.vllm_file_name, sglang):
        with pytest.raises(wavetune.InvalidArgumentError, match=why):
            name(qwen3_on(device))


def test_a_name_that_leads_out_of_sglangs_folder_is_refused():
    with pytest.raises(wavetune.InvalidArgumentError, match="leads out"):
        sglang(qwen3_on("GPU/../../etc"))
    assert engine_files.vllm_file_name(qwen3_on("GPU/../../etc")).endswith("=GPU_.._.._etc.json")


@pytest.mark.parametrize("version", ["", "3.6.0+git1", "3..6", "main", "3_6"])
def test_versions_of_triton_that_stop_sglang_are_refused(version):
    with pytest.raises(wavetune.InvalidArgumentError, match="triton.__version__"):
        engine_files.sglang_file_path(qwen3_on("NVIDIA H200"), version)


def test_names_that_vllm_takes_for_one_device_are_the_same():
    assert engine_files.is_same_device_name("NVIDIA H200", "NVIDIA_H200_NVL")
    assert not engine_files.is_same_device_name("NVIDIA H200", "NVIDIA H100 80GB HBM3")


def test_beyond_the_first_both_sides_of_a_change_and_the_last_are_keys():
    keys = experts.key_tokens([1] * 99 + [2] * 101)
    assert len(keys) == 64 + 3
    assert keys[64:] == [99, 100, 200]
    assert experts.key_tokens([0, 0, 0]) == [1, 2, 3]
    assert experts.key_tokens([]) == []


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_key_has_the_choice_of_every_count(seed):
    numbers = random.Random(seed)
    choices = []
    while len(choices) < 3000:
        choices += [numbers.randrange(4)] * (1 if numbers.randrange(3) == 0 else numbers.randint(1, 400))
    keys = experts.key_tokens(choices)
    for tokens, choice in enumerate(choices, 1):
        # The last of equally near ones: the order must not matter.
        nearest = min(reversed(keys), key=lambda key: abs(key - tokens))
        assert choices[nearest - 1] == choice, tokens


# ---- The command ------------------------------------------------------------


def program(*arguments, **environment):
    command = [Path(os.environ["WAVETUNE_BIN_DIR"]) / "wavetune", *arguments]
    environment = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif("WAVETUNE_BIN_DIR" not in os.environ, reason="needs the programs")
def test_the_program_runs_the_package_or_says_how_to_install_it(exporter):
    arguments = ["export", exporter.kernel, "--format", "vllm-moe", *QWEN3, "--out", exporter.out, "--json"]
    done = program(*arguments, WAVETUNE_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kernel"] == "triton_fused_moe"
    again = program(*arguments, "--python", sys.executable)
    assert again.returncode == 1
    assert "--force" in again.stderr
    assert program("export", "--python", sys.executable, "k", "--format", "none").returncode == 2
    shown = program("export", "--help", WAVETUNE_PYTHON=sys.executable)
    assert shown.returncode == 0
    assert "--triton-version" in shown.stdout and "examples:" in shown.stdout
    unreachable = [*arguments[:1], "gemm", "--format", "json", "m=1", "--endpoint", exporter.folder / "none.sock"]
    assert program(*unreachable, WAVETUNE_PYTHON=sys.executable).returncode == 3
    bare = exporter.folder / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    without = program(*arguments, WAVETUNE_PYTHON=bare)
    assert without.returncode == 1
    assert "pip install ./client/python" in without.stderr and "WAVETUNE_PYTHON" in without.stderr
    missing = program(*arguments, "--python", exporter.folder / "none")
    assert missing.returncode == 1
    assert "name an interpreter that has it" in missing.stderr


def test_the_commands_of_the_documents_parse():
    found = 0
    known = export._parser().format_help()
    for document in sorted((tables.ROOT / "docs").glob("*.md")):
        text = document.read_text()
        for line in re.findall(r"^wavetune export .*$", text, re.MULTILINE):
            export._parser().parse_intermixed_args(shlex.split(line.split(" #")[0])[2:])
            found += 1
        for code in re.findall(r"`(wavetune export [^`]*)`", text):
            for flag in re.findall(r"--[a-z-]+", code):
                assert flag in known, f"{document}: {code}"
    assert found >= 4
