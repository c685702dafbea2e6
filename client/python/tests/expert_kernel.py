"""The kernel of the golden table of experts, as a folder, and layers that tests ask for."""

from pathlib import Path

MANIFEST = """
name: "triton_fused_moe"
dimensions { name: "tokens" repeated: true }
dimensions { name: "n" }
dimensions { name: "k" }
dimensions { name: "top_k" max: 64 }
specialisations { name: "gate_up" }
specialisations { name: "down" }
parameters: "BLOCK_SIZE_M in {16, 32, 64, 128} default 64"
parameters: "BLOCK_SIZE_N in {32, 64, 128, 256} default 64"
parameters: "BLOCK_SIZE_K in {32, 64, 128} default 32"
parameters: "GROUP_SIZE_M in {1, 8, 16} default 8"
parameters: "num_warps in {4, 8} default 4"
parameters: "num_stages in {2, 3, 4} default 3"
mapping {
  tiles: "sum_over(tokens, ceil_div(tokens, BLOCK_SIZE_M)) * ceil_div(n, BLOCK_SIZE_N)"
  iterations_per_tile: "ceil_div(k, BLOCK_SIZE_K)"
  rows: "ceil_div(tokens, BLOCK_SIZE_M)"
}
serves { moe { engines: "vllm" engines: "sglang" } }
implementations { backend: "replay" }
arguments: "top_k int32"
representative_problems: "tokens = [16, 16], n = 1024, k = 1024, top_k = 2"
"""
SERVES = 'serves { moe { engines: "vllm" engines: "sglang" } }'

# Experts, top k, hidden, intermediate; of Mixtral on two devices.
LAYERS = {
    "qwen3-30b-a3b": (128, 8, 2048, 768),
    "glm-4.5-air": (128, 8, 4096, 1408),
    "olmoe": (64, 8, 2048, 1024),
    "gpt-oss-20b": (32, 4, 2880, 2880),
    "mixtral-tp2": (8, 2, 4096, 7168),
}


def write(folder: Path, **changes: str) -> Path:
    """Writes the kernel's folder; changes: text of the manifest to other text, by any name."""
    text = MANIFEST
    for change in changes.values():
        old, new = change
        assert old in text
        text = text.replace(old, new)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.textproto").write_text(text)
    return folder
