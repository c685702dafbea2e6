#!/usr/bin/env python3
"""Exported files, the plugin and the compile check against vLLM and SGLang themselves: their wheels, unpacked, without a GPU.

    real_engines.py --vllm FOLDER --sglang FOLDER        # scripts/soak.sh engines fetches them
    real_engines.py --sglang FOLDER --kernel triton_fused_moe_tma --table h200

For the layers of five models, at every number of tokens from 1 to 16,384: what the engine's own reader makes of the exported file is what
the table decides over what the engine would launch by itself, and what the plugin answers is the same. All that is launched compiles with
the engine's own kernel; where a table has a configuration that does not, file and plugin leave it to the engine. Needs the package wavetune
and Triton.
"""

import argparse
import contextlib
import importlib
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

import wavetune
import wavetune.export
import wavetune.vllm
from wavetune import engine_kernel, experts
from wavetune.experts import ExpertTuner, Own
from wavetune.records import ExpertLayer

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = 90
# Those of shipped tables.
DEVICES = {"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200"}
MOST_TOKENS = 16384
# Experts, experts of a token, hidden, intermediate on a device.
LAYERS = {
    "Qwen3-30B-A3B": (128, 8, 2048, 768),
    "GLM-4.5-Air": (128, 8, 4096, 1408),
    "OLMoE": (64, 8, 2048, 1024),
    "gpt-oss-20b": (32, 4, 2880, 2880),
    "Mixtral-8x7B, two devices": (8, 2, 4096, 7168),
}
VLLM_READS = ("vllm.envs", "vllm.utils.math_utils", "vllm.utils.platform_utils")
SGLANG_READER = "sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe_triton_config"


class Vllm:
    """vLLM's own reader and rule."""

    name, variable = "vllm", "VLLM_TUNED_CONFIG_FOLDER"
    configs = "vllm/model_executor/layers/fused_moe/configs"

    def __init__(self, root, device):
        self.root, self.device = root, device
        self.module = engine_kernel.load("vllm", root, ARCHITECTURE, VLLM_READS, device)
        self._read = self.module.try_get_optimal_moe_config

    def forget(self):
        self.module.get_moe_configs.cache_clear()

    def at(self, layer, tokens):
        """Returns what it launches by itself, of the files in its folder or by its rule."""
        config = self._read(*shapes(layer), layer.top_k, None, tokens)
        return Own(config, config)


class Sglang:
    """SGLang's own reader and rule."""

    name, variable = "sglang", "SGLANG_MOE_CONFIG_DIR"
    configs = "sglang/srt/layers/moe/moe_runner/triton_utils/configs"

    def __init__(self, root, device):
        self.root, self.device = root, device
        engine_kernel.load("sglang", root, ARCHITECTURE, (SGLANG_READER,), device)
        self.module = importlib.import_module(SGLANG_READER)

    def forget(self):
        self.module.get_moe_configs.cache_clear()

    def at(self, layer, tokens):
        read = self.module.try_get_optimal_moe_config
        up, (down, _) = read(*shapes(layer), layer.top_k, None, tokens, return_down_config=True)
        has_file = self.module.get_moe_configs(layer.local_experts, layer.intermediate, None, 0, 0)
        return Own(up, down or up, sglangs_rule=not has_file)


def shapes(layer):
    w1 = (layer.local_experts, 2 * layer.intermediate, layer.hidden)
    return w1, (layer.local_experts, layer.hidden, layer.intermediate)


@contextlib.contextmanager
def folder_of(engine, folder):
    """The engine reads `folder`."""
    os.environ[engine.variable] = str(folder)
    engine.forget()
    yield
    del os.environ[engine.variable]
    engine.forget()


def launched(choice):
    """Returns what the configurations of a layer make of its two launches."""
    usual = {"num_warps": 4, "num_stages": 3}
    return tuple(
        (*(config.get(name, usual.get(name)) for name in experts.PARAMETERS), bool(config.get("USE_TMA", False)))
        for config in choice[:2]
    )


def export(engine, table, layer, out):
    numbers = {"experts": layer.experts, "top-k": layer.top_k, "hidden": layer.hidden, "intermediate": layer.intermediate}
    arguments = [str(table.parents[1]), "--format", f"{engine.name}-moe", "--table", str(table), "--device-name", engine.device]
    arguments += ["--out", str(out), "--engine-configs", str(engine.root / engine.configs)]
    arguments += [f"--{name}={number}" for name, number in numbers.items()]
    if engine.name == "sglang":
        arguments.append(f"--triton-version={importlib.import_module('triton').__version__}")
    status = wavetune.export.main(arguments)
    assert status == 0, f"wavetune export {' '.join(arguments)} ended with {status}"


def compare(engine, tuner, table, title, layer, work):
    """Returns what is wrong."""
    out = work / engine.name / title.replace(" ", "_")
    export(engine, table, layer, out)
    routing = experts.expected_routing(layer.experts, layer.top_k)
    own = [engine.at(layer, tokens) for tokens in range(1, MOST_TOKENS + 1)]
    choices = [tuner.choose(layer, routing.slots(tokens, layer.experts), own[tokens - 1]) for tokens in range(1, MOST_TOKENS + 1)]
    with folder_of(engine, out):
        read = [engine.at(layer, tokens) for tokens in range(1, MOST_TOKENS + 1)]
    decided = [launched(choice) for choice in choices]
    files = [launched(choice) for choice in read]
    kept = sum(choice.kept for choice in choices)
    faults = differences(f"{engine.name}'s reader of the file", files, decided)
    if engine.name == "vllm":
        w1, w2 = shapes(layer)
        asked = engine.module.try_get_optimal_moe_config
        plugin = [asked(w1, w2, layer.top_k, None, tokens) for tokens in range(1, MOST_TOKENS + 1)]
        faults += differences("the plugin", [launched((config, config)) for config in plugin], files)
    launches = {}
    for tokens, (choice, engines) in enumerate(zip(read, own), 1):
        key = launched(choice)
        if key != launched(engines):
            launches.setdefault(key, engine_kernel.Launch(tokens, *choice[:2]))
            if experts.USE_TMA not in tuner.tuner.parameters and any(config.get("USE_TMA") for config in engines[:2]):
                faults.append(f"an entry with USE_TMA, which this table cannot predict, is replaced at {tokens} tokens")
    of_layer = engine_kernel.Layer(layer.experts, layer.intermediate, layer.hidden, layer.top_k)
    control = engine_kernel.Launch(64, *[wavetune.engine_rule(engine.name, 64, layer.experts)] * 2)
    failing = engine_kernel.uncompiled(engine.name, of_layer, list(launches.values()), control, ARCHITECTURE, engine.root)
    faults += [f"{list(launches)[place]} does not compile: {why}" for place, why in failing.items()]
    print(
        f"{engine.name}, {title}: the engine's own at {kept} of {MOST_TOKENS} token counts, else one of {len(launches)} that "
        f"compile; {len(faults)} faults",
        flush=True,
    )
    return [f"{engine.name}, {title}: {fault}" for fault in faults]


@contextlib.contextmanager
def deciding(config, counts):
    """Every table decides `config` where so many tokens enter a layer."""
    choose = ExpertTuner.choose

    def always(tuner, layer, slots, own=None, apart=False):
        if sum(slots) // layer.top_k in counts:
            return experts.Choice(config, config, (), False)
        return choose(tuner, layer, slots, own, apart)

    ExpertTuner.choose = always
    yield
    ExpertTuner.choose = choose


def leave_what_does_not_compile(engine, table, work):
    """Returns what is wrong where a table has what WaveTune's kernel compiles, and an engine's does not (Triton 3.6)."""
    layer = layer_of((64, 8, 2048, 512))  # None that the plugin is asked for later: it remembers.
    counts = range(2000, 2101)
    config = dict(zip(experts.PARAMETERS, (256, 64, 64, 1, 4, 3)))
    own = [engine.at(layer, tokens) for tokens in counts]
    out = work / engine.name / "uncompiled"
    with deciding(config, counts):
        export(engine, table, layer, out)
        asked = engine.module.try_get_optimal_moe_config
        plugin = [Own(*[asked(*shapes(layer), layer.top_k, None, tokens)] * 2) for tokens in counts]
    with folder_of(engine, out):
        read = [engine.at(layer, tokens) for tokens in counts]
    expected = [launched(each) for each in own]
    faults = differences("the file of what does not compile", [launched(each) for each in read], expected)
    if engine.name == "vllm":
        answers = [launched(each) for each in plugin]
        faults += differences("the plugin with what does not compile", answers, expected)
    print(f"{engine.name}: what does not compile is left to it; {len(faults)} faults", flush=True)
    return faults


def layer_of(numbers):
    count, top_k, hidden, intermediate = numbers
    return ExpertLayer(
        experts=count, local_experts=count, top_k=top_k, hidden=hidden, intermediate=intermediate, gated=True
    )


def differences(what, theirs, expected):
    wrong = [tokens for tokens, (a, b) in enumerate(zip(theirs, expected), 1) if a != b]
    if not wrong:
        return []
    at = wrong[0]
    return [f"{what} is another at {len(wrong)} token counts, first {at}: {theirs[at - 1]} for {expected[at - 1]}"]


def without_torch():
    """A stand-in for torch that knows of no GPU."""
    engine_kernel.stand_in_for("torch")
    torch = importlib.import_module("torch")
    torch.cuda.current_device.side_effect = RuntimeError("there is no GPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--vllm", type=Path)
    parser.add_argument("--sglang", type=Path)
    parser.add_argument("--kernel", default="triton_fused_moe")
    parser.add_argument("--table", default="h100", choices=DEVICES)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # A line for every file that is read.
    for variable in (Vllm.variable, Sglang.variable):
        os.environ.pop(variable, None)
    without_torch()
    engine_kernel.compile_without_gpu(ARCHITECTURE)
    table = ROOT / "kernels" / options.kernel / "tables" / f"{options.table}.table"
    client = wavetune.connect(mode="offline", cache_dir=None, table_file=str(table), pin="")
    tuner = ExpertTuner(*(client.tuner(options.kernel, specialisation=name) for name in ("gate_up", "down")))
    wanted = ((Vllm, options.vllm), (Sglang, options.sglang))
    engines = [engine(root.resolve(), DEVICES[options.table]) for engine, root in wanted if root is not None]
    assert options.vllm is None or wavetune.vllm.install(client), "the plugin was not installed"
    work = Path(tempfile.mkdtemp(prefix="engines-"))
    faults = []
    try:
        for engine in engines:
            faults += leave_what_does_not_compile(engine, table, work)
            for title, numbers in LAYERS.items():
                faults += compare(engine, tuner, table, title, layer_of(numbers), work)
    finally:
        shutil.rmtree(work)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
