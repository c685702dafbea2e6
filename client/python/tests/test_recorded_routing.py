"""Histograms of experts, out of what engines record."""

import json
import subprocess
import sys

import pytest
import wavetune
from wavetune import recorded_routing


def test_layers_are_added_up_by_how_wanted_their_experts_are():
    assert recorded_routing.by_rank([1, 30, 2]) == [30, 2, 1]
    assert recorded_routing.by_rank(([10, 1, 0, 0], [1, 10, 0, 0])) == [20, 2, 0, 0]
    by_layer = wavetune.ExpectedRouting(4, 2, [[10, 1, 0, 0], [1, 10, 0, 0]])
    assert by_layer.slots(500) == wavetune.ExpectedRouting(4, 2, [20, 2, 0, 0]).slots(500)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ([], "layers of .0. experts"),
        ([[], []], "layers of .0. experts"),
        ([[1, 2], [3]], "layers of .1, 2. experts"),
        ([3, -5], "a count of -5"),
        ([1 << 54, 0], "a count of 18014398509481984: counts are whole numbers"),
        ([[1 << 53], [1 << 53]], "also once they are added up"),
    ],
)
def test_what_are_no_counts_is_refused(counts, says):
    with pytest.raises(wavetune.InvalidArgumentError, match=says):
        wavetune.ExpectedRouting(2, 1, counts)


def test_a_thousand_million_tokens_are_counted():
    assert recorded_routing.by_rank([[8 * 10**9, 0]] * 100) == [8 * 10**11, 0]


def test_shares_are_no_counts():
    with pytest.raises(wavetune.InvalidArgumentError, match="a count of 0.5"):
        wavetune.ExpectedRouting(2, 1, [0.5, 0.5])


def test_vllms_outputs_are_counted_by_layer():
    numpy = pytest.importorskip("numpy")
    # [tokens, layers, top_k]: the first layer has no experts, and nobody writes to it.
    chosen = numpy.array([[[0, 0], [3, 1]], [[0, 0], [3, 0]]], dtype=numpy.uint8)
    counts = recorded_routing.chosen_experts(chosen, 4)
    assert counts.tolist() == [[0, 0, 0, 0], [1, 1, 0, 2]]
    assert recorded_routing.by_rank(counts + counts) == [4, 2, 2, 0]


def run(path):
    command = [sys.executable, "-m", "wavetune.recorded_routing", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_sglang_recorded_becomes_json(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "expert_distribution_recorder_1.5.pt"
    # Mode stat: by step, layer and expert.
    counts = torch.tensor([[[5, 0], [0, 1]], [[0, 5], [0, 1]]], dtype=torch.int32)
    torch.save({"rank": 0, "logical_count": counts, "average_utilization_rate_over_window": None}, path)
    assert json.loads(run(path).stdout) == [[5, 5], [0, 2]]
    # Mode per_pass: of experts where they lie; expert 0 lies twice.
    record = {"forward_pass_id": 3, "rank": 0, "gatherer_key": "primary"}
    record["global_physical_count"] = torch.tensor([[1, 2, 4]], dtype=torch.int32)
    placed = torch.tensor([[0, 1, 0]])
    torch.save({"records": [record, record], "last_physical_to_logical_map": placed}, path)
    assert recorded_routing.read(str(path)) == [[10, 4]]
    torch.save({"records": [], "last_physical_to_logical_map": placed}, path)
    assert "neither logical_count nor records" in run(path).stderr


def test_what_cannot_be_read_is_said_in_a_line(tmp_path):
    path = tmp_path / "counts.pt"
    path.write_text("no archive")
    done = run(path)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) >= 1 and "Traceback" not in done.stderr
    assert "usage" in subprocess.run([sys.executable, "-m", "wavetune.recorded_routing"], capture_output=True, text=True, check=False).stderr
