"""Histograms of experts, out of what engines record."""

import json
import subprocess
import sys

import pytest
import wavetune
from wavetune import recorded_routing


def slots(counts, experts):
    return wavetune.ExpectedRouting(experts, 2, counts).slots(500)


def test_layers_are_added_up_by_how_wanted_their_experts_are():
    numpy = pytest.importorskip("numpy")
    by_layer = ([10, 1, 0, 0], [1, 10, 0, 0])
    assert slots(by_layer, 4) == slots([20, 2, 0, 0], 4) == slots([0, 20, 0, 2], 4)
    for array in (numpy.array(by_layer), list(numpy.array(by_layer)), [[numpy.int64(20), 2, 0, 0]]):
        assert slots(array, 4) == slots(by_layer, 4)
    # By step, layer and expert, as files may have it, too.
    assert slots([by_layer, by_layer], 4) == slots([40, 4, 0, 0], 4)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ([], "is no list of counts: give JSON or CSV"),
        ([[], []], "is no list of counts"),
        ([[1, 2], [3]], "a layer of 1 experts behind one of 2"),
        ([3, -5], "a count of -5: counts are whole numbers from 0 to 2.53"),
        ([0.5, 0.5], "a count of 0.5"),
        ([True, 1], "a count of true"),
        ([float("nan"), 1], "is no list of counts"),
        ([1 << 54, 0], "a count of 18014398509481984: counts are whole numbers"),
        ([10**400, 0], "is no list of counts"),
        ([[1 << 53, 1], [1 << 53, 1]], "adds up to more than 2.53"),
        ([0, 0], "zeros alone"),
        ([1, 2, 3], "counts of 3 experts, the layer has 2"),
        (object(), "is no list of counts .'object' object has no attribute 'tolist'"),
        ((count for count in (1, 2)), "is no list of counts"),
    ],
)
def test_what_are_no_counts_is_refused(counts, says):
    with pytest.raises(wavetune.InvalidArgumentError, match=says):
        wavetune.ExpectedRouting(2, 1, counts)


def test_a_thousand_million_tokens_are_counted():
    assert slots([[8 * 10**9, 10**9]] * 100, 2) == slots([8 * 10**11, 10**11], 2)


def test_vllms_outputs_are_counted_by_layer():
    numpy = pytest.importorskip("numpy")
    # [tokens, layers, top_k]: the first layer has no experts, and nobody writes to it.
    chosen = numpy.array([[[0, 0], [3, 1]], [[0, 0], [3, 0]]], dtype=numpy.uint8)
    counts = recorded_routing.chosen_experts(chosen, 4)
    assert counts.tolist() == [[0, 0, 0, 0], [1, 1, 0, 2]]
    assert slots(counts + counts, 4) == slots([4, 2, 2, 0], 4)


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
    # Mode per_token: with what each token chose beside.
    record |= {"input_ids": [7, 9], "positions": [0, 1], "extend_seq_lens": [2], "forward_mode": 1, "misc_objects": []}
    record["topk_ids_of_layer"] = torch.tensor([[[2, 0], [2, -1]]], dtype=torch.int16)
    torch.save({"records": [record], "last_physical_to_logical_map": placed}, path)
    assert recorded_routing.read(str(path)) == [[5, 2]]
    torch.save({"records": [], "last_physical_to_logical_map": placed}, path)
    assert "neither logical_count nor records" in run(path).stderr


def test_what_cannot_be_read_is_said_in_a_line(tmp_path):
    path = tmp_path / "counts.pt"
    path.write_text("no archive")
    done = run(path)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) >= 1 and "Traceback" not in done.stderr
    assert "usage" in subprocess.run([sys.executable, "-m", "wavetune.recorded_routing"], capture_output=True, text=True, check=False).stderr
