"""What engines' files have for launches, as `wavetune bench` and `wavetune workload add` ask for it."""

import json

import pytest

from wavetune import engine_files, shipped_rivals

DEVICE = "NVIDIA H100 80GB HBM3"
NAME = "E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json"


def entry(rows, **more):
    return {"BLOCK_SIZE_M": rows, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1, **more}


def launch(rows, warps=4, stages=3, tma=0):
    return entry(rows, num_warps=warps, num_stages=stages, USE_TMA=tma)


@pytest.fixture
def ask(tmp_path, capsys):
    """Returns what the module answers and says; a folder is written first."""

    def run(files, launches, engines=("vllm", "sglang"), folders=None, devices=(DEVICE,)):
        for name, content in files.items():
            path = tmp_path / "configs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        request = tmp_path / "request.json"
        folders = [str(tmp_path / "configs")] if folders is None else folders
        asked = {"engines": engines, "folders": folders, "devices": devices, "launches": launches}
        request.write_text(json.dumps(asked))
        code = shipped_rivals.main([str(request)])
        printed = capsys.readouterr()
        return code, json.loads(printed.out or "null"), printed.err

    return run


def test_the_entry_of_the_nearest_count_is_each_launchs(ask, tmp_path):
    file = {"triton_version": "3.6.0", "1": entry(16, num_warps=8), "64": entry(64, num_stages=4)}
    launches = [[128, 768, False, 1], [128, 768, True, 32], [128, 768, False, 33], [128, 768, True, 9000], [64, 768, True, 1]]
    code, answer, said = ask({NAME: file}, launches)
    assert code == 0
    small, large = launch(16, warps=8), launch(64, stages=4)
    layer = "vllm E=128,N=768"
    expected = {" M=1": small, ",down M=32": small, " M=33": large, ",down M=9000": large}
    assert answer == {DEVICE: {layer + key: found for key, found in expected.items()}}
    assert f"128 experts of width 768: {tmp_path / 'configs' / NAME} is measured as vllm's file" in said
    assert "64 experts of width 768" in said and "no file for NVIDIA H100 80GB HBM3: vllm's rule is what it launches" in said


def test_sglangs_second_product_has_its_own_file_and_what_no_kernel_takes_is_left_out(ask):
    folder = "triton_3_6_0"
    up = {"1": entry(16, num_warps=4, num_stages=3), "64": entry(64, USE_TMA=True), "256": entry(64, SPLIT_K=2)}
    down = {"1": entry(32, num_warps=8, num_stages=2)}
    files = {f"{folder}/{NAME}": up, f"{folder}/{NAME.replace('.json', '_down.json')}": down}
    launches = [[128, 768, False, 1], [128, 768, True, 1], [128, 768, False, 64], [128, 768, False, 256]]
    code, answer, said = ask(files, launches)
    assert code == 0 and answer[DEVICE] == {
        "sglang E=128,N=768 M=1": launch(16),
        # The row tile is that of the first product.
        "sglang E=128,N=768,down M=1": launch(16, warps=8, stages=2),
        "sglang E=128,N=768 M=64": launch(64, tma=1),
    }
    assert "at 1 problems sglang's file has what no kernel takes (SPLIT_K above 1" in said


def test_each_device_has_its_own(ask):
    files = {NAME: {"1": entry(16)}, NAME.replace("H100_80GB_HBM3", "L4"): {"1": entry(32)}}
    code, answer, said = ask(files, [[128, 768, False, 1], [128, 768, False, 1]], devices=(DEVICE, "NVIDIA L4", "B"))
    key = "vllm E=128,N=768 M=1"
    assert (code, answer) == (0, {DEVICE: {key: launch(16)}, "NVIDIA L4": {key: launch(32)}})
    assert "has files for NVIDIA_H100_80GB_HBM3, NVIDIA_L4, not for B" in said


def test_files_of_other_gpus_and_broken_ones_are_said(ask):
    code, answer, said = ask({NAME.replace("H100_80GB_HBM3", "H200"): {"1": entry(16)}}, [[128, 768, False, 1]])
    assert (code, answer) == (0, {})
    assert "has files for NVIDIA_H200, not for NVIDIA H100 80GB HBM3" in said
    code, answer, said = ask({NAME: "{"}, [[128, 768, False, 1], [128, 768, True, 1]])
    assert (code, answer) == (0, {})
    assert said.count("is no file of configurations") == 1 and "install the engine anew" in said


def test_a_folder_that_no_engine_has_is_refused(ask, tmp_path):
    code, answer, said = ask({}, [[128, 768, False, 1]], folders=[str(tmp_path)])
    assert (code, answer) == (2, None)
    assert "no file of vllm's configurations" in said and "no file of sglang's configurations" in said


def test_folders_of_installed_engines_are_found(ask, tmp_path, monkeypatch):
    def installed(engine):
        if engine == "sglang":
            raise engine_files.InvalidArgumentError("sglang has its files elsewhere: name the folder")
        return engine_files.EngineFolder("vllm", tmp_path / "configs")

    monkeypatch.setattr(engine_files, "installed_folder", installed)
    monkeypatch.setattr(engine_files.importlib.metadata, "version", lambda name: "0.99.0")
    code, answer, said = ask({NAME: {"1": entry(16)}}, [[128, 768, False, 1]], folders=[])
    assert (code, answer) == (0, {DEVICE: {"vllm E=128,N=768 M=1": launch(16)}})
    assert "vllm 0.99.0 was not tried (0.11 to 0.33 were): it may read other files" in said
    assert "elsewhere: name the folder, with --engine-configs" in said
    monkeypatch.setattr(engine_files, "installed_folder", lambda engine: None)
    assert ask({}, [[128, 768, False, 1]], folders=[])[:2] == (0, {})
