"""A package `vllm` for tests: the modules that choose configurations of experts, with vLLM's structure and rules.

Written from what vLLM does (docs/engines.md): names of files, which folder comes first, what is read once, the nearest
number of tokens, what overrides a file. Nothing is launched: fused_experts returns the configuration.
"""

import importlib
import sys
import textwrap
from pathlib import Path

# Its rule, whatever is asked: a slow one of the golden table's candidates, so that the table mostly decides otherwise.
RULE = {
    "BLOCK_SIZE_M": 16,
    "BLOCK_SIZE_N": 32,
    "BLOCK_SIZE_K": 32,
    "GROUP_SIZE_M": 16,
    "SPLIT_K": 1,
    "num_warps": 4,
    "num_stages": 2,
}
FUSED_MOE = """
import functools
import json
import os

from vllm import envs
from vllm.platforms import current_platform


def get_config_file_name(E, N, dtype, block_shape=None):
    device_name = "_".join(current_platform.get_device_name().replace("/", " ").split())
    if "H200" in device_name.split("_"):
        device_name = "NVIDIA_H200"
    kind = f",dtype={dtype}" if dtype else ""
    block = f",block_shape=[{block_shape[0]},{block_shape[1]}]" if block_shape and all(block_shape) else ""
    return f"E={E},N={N},device_name={device_name}{kind}{block}.json"


@functools.lru_cache
def get_moe_configs(E, N, dtype, block_n=None, block_k=None):
    folder = envs.VLLM_TUNED_CONFIG_FOLDER
    name = get_config_file_name(E, N, dtype, [block_n, block_k] if block_n and block_k else None)
    for parent in filter(None, (folder, os.path.join(os.path.dirname(__file__), "configs"))):
        path = os.path.join(parent, name)
        if os.path.exists(path):
            with open(path) as file:
                entries = json.load(file)
            entries.pop("triton_version", None)
            return {int(tokens): config for tokens, config in entries.items()}
    return None


def get_default_config(M, E, N, K, topk, dtype, block_shape=None):
    return dict(%(rule)s)


def vllm_is_batch_invariant():
    return envs.VLLM_BATCH_INVARIANT


def try_get_optimal_moe_config(w1_shape, w2_shape, top_k, dtype, M, %(more)sblock_shape=None):
    from vllm.model_executor.layers.fused_moe import get_config

    if get_config():
        return get_config()
    E, _, N = w2_shape
    block_n, block_k = block_shape or (0, 0)
    configs = None if vllm_is_batch_invariant() else get_moe_configs(E, N, dtype, block_n, block_k)
    if configs:
        return configs[min(configs, key=lambda tokens: abs(tokens - M))]
    return get_default_config(M, E, N, w1_shape[2], top_k, dtype, block_shape)


def fused_experts(w1_shape, w2_shape, top_k, M, dtype=None, **more):
    choose = functools.partial(try_get_optimal_moe_config, w1_shape, w2_shape, top_k, dtype, **more)
    return choose(M)
"""

FILES = {
    "vllm/__init__.py": "",
    "vllm/envs.py": """
        import os
        VLLM_TUNED_CONFIG_FOLDER = os.environ.get("VLLM_TUNED_CONFIG_FOLDER")
        VLLM_BATCH_INVARIANT = False
    """,
    "vllm/platforms.py": """
        class Platform:
            name = "NVIDIA H200"
            def get_device_name(self):
                return self.name
        current_platform = Platform()
    """,
    "vllm/model_executor/__init__.py": "",
    "vllm/model_executor/layers/__init__.py": "",
    "vllm/model_executor/layers/fused_moe/__init__.py": """
        import contextlib
        _config = None
        @contextlib.contextmanager
        def override_config(config):
            global _config
            before, _config = _config, config
            yield
            _config = before
        def get_config():
            return _config
    """,
    "vllm/model_executor/layers/fused_moe/experts/__init__.py": "",
}
# Modules that have the function in their own namespace: the one that launches the same kernel, and those that ask in the
# same words for another one, as they do in 0.33.
ASKING = """
from vllm.model_executor.layers.fused_moe.fused_moe import try_get_optimal_moe_config


def apply(w1_shape, w2_shape, top_k, M):
    return try_get_optimal_moe_config(w1_shape, w2_shape, top_k, None, M)
"""
OTHER_KERNELS = [
    "vllm/lora/layers/utils.py",
    "vllm/model_executor/layers/fused_moe/experts/fused_batched_moe.py",
    "vllm/model_executor/layers/fused_moe/experts/nvfp4_emulation_moe.py",
    "vllm/model_executor/models/k2_horizon.py",
]
PACKAGES = ["vllm/lora", "vllm/lora/layers", "vllm/model_executor/models"]
FILES.update({f"{package}/__init__.py": "" for package in PACKAGES})
FILES.update({path: ASKING for path in [*OTHER_KERNELS, "vllm/model_executor/layers/fused_moe/experts/triton_moe.py"]})


class FakeVllm:
    """The package in a folder that is on the path as long as the test runs."""

    def __init__(self, folder: Path, monkeypatch, fused_moe=FUSED_MOE, more="", rule=RULE) -> None:
        for name, text in FILES.items():
            self._write(folder / name, textwrap.dedent(text))
        if fused_moe is not None:
            path = folder / "vllm/model_executor/layers/fused_moe/fused_moe.py"
            self._write(path, fused_moe.replace("%(more)s", more).replace("%(rule)s", repr(rule)))
        for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.syspath_prepend(folder)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @staticmethod
    def module(name: str = ""):
        return importlib.import_module("vllm.model_executor.layers.fused_moe" + (name and "." + name))

    def choose(self, tokens: int, experts=128, hidden=2048, intermediate=768, top_k=8, **more):
        """Returns what a layer would launch."""
        w1, w2 = (experts, 2 * intermediate, hidden), (experts, hidden, intermediate)
        return self.module("fused_moe").fused_experts(w1, w2, top_k, tokens, **more)
