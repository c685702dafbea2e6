"""What examples/prefill does without a GPU: problems of models, policies, spaces, the report. No torch, no Triton."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import tables

import wavetune

EXAMPLE = tables.ROOT / "examples" / "prefill"
KERNELS = tables.ROOT / "kernels"
sys.path.insert(0, str(EXAMPLE))

import models  # noqa: E402
import policies  # noqa: E402
import prefill  # noqa: E402
import spaces  # noqa: E402

QWEN = models.MODELS["qwen3-30b-a3b"]
LLAMA = models.MODELS["llama-3-8b"]


def by_name(model, tokens, batch, phase):
    return {launch.name: launch for launch in models.launches(model, tokens, batch, phase)}


def test_the_launches_of_a_prefill_have_the_dimensions_that_the_models_publish():
    qwen = by_name(QWEN, 700, 1, "prefill")
    assert qwen["qkv"].problem == {"m": 700, "n": 5120, "k": 2048}
    assert qwen["o"].problem == {"m": 700, "n": 2048, "k": 4096}
    assert qwen["gate_up"].problem["n"] == 1536 and qwen["gate_up"].problem["k"] == 2048
    assert qwen["down"].problem["n"] == 2048 and qwen["down"].problem["k"] == 768
    assert len(qwen["gate_up"].problem["tokens"]) == 128 and sum(qwen["gate_up"].problem["tokens"]) == 5600
    assert qwen["attention"].specialisation == "causal_d128"
    assert qwen["head"].problem == {"m": 1, "n": 151936, "k": 2048} and qwen["head"].times == 1
    llama = by_name(LLAMA, 512, 4, "prefill")
    assert llama["qkv"].problem == {"m": 2048, "n": 6144, "k": 4096}
    assert llama["gate_up"].problem == {"m": 2048, "n": 28672, "k": 4096}
    assert llama["down"].problem == {"m": 2048, "n": 4096, "k": 14336}
    assert llama["attention"].problem == {"batch": 4, "heads": 32, "kv_heads": 8, "seq_q": 512, "seq_kv": 512}
    assert llama["head"].problem["m"] == 4


def test_models_without_a_shipped_file_have_their_experts_widths():
    widths = {}
    for name in ("glm-4.5-air", "gpt-oss-20b", "olmoe-1b-7b", "mixtral-8x7b-tp2"):
        here = by_name(models.MODELS[name], 8192, 1, "prefill")
        widths[name] = [(here[each].problem["n"], here[each].problem["k"]) for each in ("gate_up", "down")]
        assert sum(here["down"].problem["tokens"]) == 8192 * models.MODELS[name].top_k
    assert widths == {
        "glm-4.5-air": [(2816, 4096), (4096, 1408)],
        "gpt-oss-20b": [(5760, 2880), (2880, 2880)],
        "olmoe-1b-7b": [(2048, 2048), (2048, 1024)],
        "mixtral-8x7b-tp2": [(14336, 4096), (4096, 7168)],
    }


def test_a_decoded_token_has_one_row_for_each_prompt():
    qwen = by_name(QWEN, 3000, 4, "decode")
    assert qwen["qkv"].problem["m"] == 4 and sum(qwen["down"].problem["tokens"]) == 32
    assert qwen["attention"].specialisation == "decode_d128"
    assert qwen["attention"].problem["seq_q"] == 1 and qwen["attention"].problem["seq_kv"] == 3001
    with pytest.raises(ValueError, match="there are prefill and decode"):
        models.launches(QWEN, 1, 1, "training")


def test_the_layers_of_the_larger_model_are_those_of_30_billion_weights():
    total = QWEN.layers * QWEN.layer_bytes() / 2 + 2 * QWEN.vocabulary * QWEN.hidden
    assert 30.0e9 < total < 31.0e9
    total = LLAMA.layers * LLAMA.layer_bytes() / 2 + 2 * LLAMA.vocabulary * LLAMA.hidden
    assert 7.9e9 < total < 8.1e9


def test_the_rules_of_engines_are_those_that_are_documented():
    assert policies.moe_old(700, 128)["BLOCK_SIZE_M"] == 64 and policies.moe_old(700, 128)["BLOCK_SIZE_K"] == 32
    ladder = [policies.moe_ladder(tokens, 128)["BLOCK_SIZE_M"] for tokens in (32, 33, 96, 97, 512, 513)]
    assert ladder == [16, 32, 32, 64, 64, 128]
    prefill_attention = by_name(QWEN, 512, 1, "prefill")["attention"]
    assert policies.attention_rule(prefill_attention, modern=False)["num_warps"] == 4
    assert policies.attention_rule(prefill_attention, modern=True)["num_stages"] == 1


def test_of_equally_near_points_the_one_that_stands_first_counts():
    assert policies.nearest([512, 1024], 768) == 512
    assert policies.nearest([1024, 512], 768) == 1024
    assert policies.nearest([512, 1024, 2048], 1500) == 1024


def test_an_engines_file_decides_for_the_moe_layer_alone():
    file = {
        "triton_version": "3.6.0",
        "512": {"BLOCK_SIZE_M": 32, "SPLIT_K": 1, "num_warps": 4},
        "1024": {"BLOCK_SIZE_M": 64, "num_warps": 8},
    }
    here = models.launches(QWEN, 700, 1, "prefill")
    choice = policies.of_file(here, QWEN, file)
    assert choice["gate_up"] == choice["down"] == {"BLOCK_SIZE_M": 32, "num_warps": 4}
    assert choice["qkv"] == policies.engine_defaults(here, QWEN, modern=True)["qkv"]


def measured(tokens, moe_times, gemm_times):
    """Times as `tune` writes them, alike for all products of a kind."""
    times = {}
    for launch in models.launches(QWEN, tokens, 1, "prefill"):
        times[launch.key] = dict(moe_times if launch.kernel == "triton_fused_moe" else gemm_times)
    return times


def test_a_moe_layers_products_share_the_configuration_with_the_lowest_sum():
    times = measured(512, {}, {"A=1": 1.0, "A=2": 2.0})
    here = models.launches(QWEN, 512, 1, "prefill")
    gate_up, down = (next(launch for launch in here if launch.name == name) for name in ("gate_up", "down"))
    times[gate_up.key] = {"B=1": 1.0, "B=2": 3.0, "B=3": 0.5}
    times[down.key] = {"B=1": 5.0, "B=2": 2.0}
    choice = policies.exhaustive(here, times)
    assert choice["gate_up"] == choice["down"] == {"B": 2}
    assert choice["qkv"] == {"A": 1}
    del times[down.key]
    with pytest.raises(KeyError, match="triton_fused_moe/down"):
        policies.exhaustive(here, times)


def test_nearest_points_lend_their_best_to_other_numbers_of_tokens():
    times = {
        **measured(512, {"B=512": 1.0, "B=1024": 2.0}, {"A=512": 1.0, "A=1024": 2.0}),
        **measured(1024, {"B=512": 2.0, "B=1024": 1.0}, {"A=512": 2.0, "A=1024": 1.0}),
    }
    own = SimpleNamespace(model=QWEN, batch=1, phase="prefill")
    of_tokens, points = prefill.points_of(own)
    assert points == [512, 1024, 2048, 4096, 8192, 16384]
    for tokens, nearest in [(700, 512), (800, 1024), (1500, 1024)]:
        choice = policies.nearest_measured(models.launches(QWEN, tokens, 1, "prefill"), times, of_tokens, points)
        assert choice["qkv"] == {"A": nearest} and choice["down"] == {"B": nearest}
        assert choice["head"] in ({"A": 512}, {"A": 1024})


class FakeClient:
    """Answers like wavetune.Client, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def tuner(self, kernel, *, specialisation, device):
        return FakeTuner(self, kernel, specialisation)


class FakeTuner:
    digest = "ab" * 32

    def __init__(self, client, kernel, specialisation):
        self._client, self._kernel, self._specialisation = client, kernel, specialisation

    def resolve(self, **problem):
        self._client.asked.append((self._kernel, self._specialisation, problem))
        return SimpleNamespace(configuration={"A": 1}, source=SimpleNamespace(name="FITTED"))

    def resolve_together(self, problems):
        self._client.asked += [(self._kernel, name, problem) for name, problem in problems]
        return tuple(SimpleNamespace(configuration={"B": 2}, source=SimpleNamespace(name="FITTED")) for _ in problems)


def test_decisions_ask_each_table_once_and_for_both_products_of_an_expert_layer_together():
    client = FakeClient()
    choice, notes = policies.decided(models.launches(QWEN, 700, 1, "prefill"), client)
    assert choice["gate_up"] == choice["down"] == {"B": 2} and choice["attention"] == {"A": 1}
    assert [name for _, name, _ in client.asked if name in ("gate_up", "down")] == ["gate_up", "down"]
    assert set(notes["digests"]) == {"triton_gemm", "triton_attention", "triton_fused_moe"}
    assert notes["sources"]["qkv"] == "FITTED"


def test_a_real_table_decides_for_both_products_of_an_expert_layer(tmp_path):
    table = tables.path("fused_moe")
    client = wavetune.connect(mode="offline", table_file=table, cache_dir=tmp_path / "cache")
    passes = [launch for launch in models.launches(QWEN, 700, 1, "prefill") if launch.kernel == "triton_fused_moe"]
    choice, notes = policies.decided(passes, client)
    assert choice["gate_up"] == choice["down"]
    assert {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "num_warps"} <= choice["down"].keys()
    assert len(notes["digests"]["triton_fused_moe"]) == 64 and notes["decide_us"] > 0


MANIFEST = """
parameters: "BLOCK in {16, 32..96 step 32, 128} default 16, SPLIT in {1..8 times 2} default 1"
parameters: "num_warps in {4, 8} default 4"
require: "BLOCK * SPLIT <= 2 KiB and num_warps == 8 when BLOCK >= 64"
# Strings that follow each other are one.
require: "SPLIT == 1 "
         "when CAUSAL == 1"
require: ["m <= 16 when SPLIT >= 4", "BLOCK >= 16"]
"""


@pytest.fixture
def manifest(tmp_path):
    (tmp_path / "manifest.textproto").write_text(MANIFEST)
    return tmp_path


def test_a_space_is_read_from_the_manifests_text(manifest):
    causal = spaces.configurations(manifest, "causal_d64")
    assert [own["BLOCK"] for own in causal] == [16, 16, 32, 32, 64, 96, 128]
    assert {own["SPLIT"] for own in causal} == {1}
    every = spaces.configurations(manifest, "")
    assert {own["SPLIT"] for own in every} == {1, 2, 4, 8}
    assert {own["SPLIT"] for own in spaces.configurations(manifest, "", {"m": 700})} == {1, 2}
    assert len(spaces.configurations(manifest, "", most=5)) <= 5


def test_a_space_that_is_not_understood_is_an_error(tmp_path):
    (tmp_path / "manifest.textproto").write_text('parameters: "A in {1 or 2} default 1"\n')
    with pytest.raises(ValueError, match="'1 or 2' are not understood"):
        spaces.configurations(tmp_path, "")
    (tmp_path / "manifest.textproto").write_text("")
    with pytest.raises(ValueError, match="no parameters"):
        spaces.configurations(tmp_path, "")


@pytest.mark.parametrize(
    "kernel, specialisation", [("gemm_bf16", ""), ("triton_gemm", ""), ("triton_fused_moe", "down")]
)
def test_the_spaces_of_our_own_kernels_have_as_many_configurations_as_their_manifests_say(kernel, specialisation):
    said = re.search(r"^# (\d+) (?:valid )?configurations", (KERNELS / kernel / "manifest.textproto").read_text(), re.M)
    assert len(spaces.configurations(KERNELS / kernel, specialisation)) == int(said[1])


def test_the_spaces_of_attention_are_neither_empty_nor_everything():
    for kernel, names in [("triton_attention", ["causal_d64", "causal_d128", "full_d128", "decode_d64", "decode_d128"])]:
        for name in names:
            assert 10 < len(spaces.configurations(KERNELS / kernel, name)) < 100


def run(*arguments):
    command = [sys.executable, EXAMPLE / "prefill.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_shapes_are_printed_without_torch_or_a_gpu():
    result = run("shapes", "--tokens", 700, "--batches", 4)
    assert result.returncode == 0, result.stderr
    assert "triton_gemm/- m=2800 n=5120 k=2048" in result.stdout
    assert "triton_attention/decode_d128 batch=4 heads=32 kv_heads=8 seq_q=1 seq_kv=701" in result.stdout


def test_launches_are_compared_by_what_was_timed(tmp_path):
    layer = [each for each in models.launches(QWEN, 512, 1, "prefill") if each.kernel == "triton_fused_moe"]
    ladder = policies.text_of(policies.moe_ladder(512, 128))
    file = tmp_path / "tuned.json"
    times = {layer[0].key: {ladder: 30.0, "BLOCK_SIZE_M=64": 20.0}, layer[1].key: {ladder: 14.0, "BLOCK_SIZE_M=64": 20.0}}
    file.write_text(json.dumps({"device": "NVIDIA H100", "times": times, "spent": {}, "autotune": {}}))
    result = run(
        "launches", "--models", QWEN.name, "--tokens", 512, "--phases", "prefill", "--tuned", file,
        "--policies", "old", "modern", "exhaustive", "--results", tmp_path / "launches.json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    # The old rule's configuration was not timed.
    assert "| qwen3-30b-a3b | prefill | 1 | 512 | gate_up + down | 40.0 |  | 1.100 | 1.000 |" in result.stdout
    record = json.loads((tmp_path / "launches.json").read_text())["launches"][0]
    assert record["us"] == {"old": None, "modern": 44.0, "exhaustive": 40.0}
    # Where nothing was timed of what is asked for there is a line without figures.
    result = run("launches", "--models", QWEN.name, "--tokens", 512, "--tuned", file, "--policies", "old")
    assert result.returncode == 0, result.stderr
    assert "| qwen3-30b-a3b | prefill | 1 | 512 | gate_up + down |  |  |" in result.stdout


@pytest.mark.parametrize("given", [[], ["--tuned", "none.json"]])
def test_comparing_launches_needs_what_was_timed(given):
    result = run("launches", *given)
    assert result.returncode == 1
    assert result.stderr.strip() == "give what `tune` wrote with --tuned"


def test_the_report_is_a_table_of_what_was_measured(tmp_path):
    summary = {"median": 2.0, "low": 1.9, "high": 2.1, "least": 1.8}
    written = {
        "device": "NVIDIA H100", "torch": "2.11.0", "triton": "3.6.0", "dense": "triton", "attention": "triton",
        "rounds": 3, "idle_s": 0.03, "profile_s": 40.0,
        "passes": [
            {
                "model": "llama-3-8b", "phase": "prefill", "batch": 1, "tokens": 700,
                "ms": {"old": {**summary, "median": 3.0}, "decided": {**summary, "median": 2.02}, "exhaustive": summary},
                "notes": {"old": {"tuning_s": 0.0}, "decided": {"decide_us": 12.0}, "nearest": {"missing": "KeyError"}},
            }
        ],
    }  # fmt: skip
    file = tmp_path / "run.json"
    file.write_text(json.dumps(written))
    result = run("report", file)
    assert result.returncode == 0, result.stderr
    assert "| llama-3-8b | prefill | 1 | 700 | 2.00 | 1.500 | 1.010 | 1.000 |" in result.stdout
    assert "40 s once, 12 µs" in result.stdout


def test_what_was_tuned_goes_through_its_file(tmp_path):
    configuration = {"BLOCK_M": 64, "num_warps": 4}
    assert policies.configuration_of(policies.text_of(configuration)) == configuration
    file = Path(tmp_path / "tuned.json")
    prefill.save(file, {"times": {"a": {policies.text_of(configuration): 1.5}}})
    assert prefill.load(file) == {"times": {"a": {"BLOCK_M=64 num_warps=4": 1.5}}}
    assert prefill.load(tmp_path / "none.json") is None
