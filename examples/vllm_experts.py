#!/usr/bin/env python3
"""What vLLM launches for the experts of a layer: by its own files and rules, and with WaveTune's plugin.

    examples/vllm_experts.py --experts 128 --top-k 8 --hidden 2048 --intermediate 768 700 1500 3000

Needs vLLM and the package `wavetune`; no GPU where a table is named (WAVETUNE_TABLE_FILE, WAVETUNE_MODE=offline).
docs/engines.md says more.
"""

import argparse
import os

# The plugin would be there before this program had asked vLLM for its own choice.
os.environ.setdefault("VLLM_PLUGINS", "")

import wavetune.vllm  # noqa: E402


def choose(arguments, tokens):
    """Returns the configuration that a layer would be launched with."""
    from vllm.model_executor.layers.fused_moe import fused_moe

    gate_up = (arguments.experts, 2 * arguments.intermediate, arguments.hidden)
    down = (arguments.experts, arguments.hidden, arguments.intermediate)
    return fused_moe.try_get_optimal_moe_config(gate_up, down, arguments.top_k, None, tokens)


def text(configuration):
    return " ".join(f"{name}={value}" for name, value in sorted(configuration.items()))


def main(argv=None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--experts", "--top-k", "--hidden", "--intermediate"):
        parser.add_argument(option, type=int, required=True)
    parser.add_argument("tokens", type=int, nargs="+", help="tokens that enter the layer")
    arguments = parser.parse_args(argv)

    own = {tokens: choose(arguments, tokens) for tokens in arguments.tokens}
    if not wavetune.vllm.install():
        raise SystemExit("the plugin could not be installed: the warning above says why")
    for tokens, configuration in own.items():
        print(f"{tokens} tokens\n  vLLM      {text(configuration)}\n  WaveTune  {text(choose(arguments, tokens))}")


if __name__ == "__main__":
    main()
