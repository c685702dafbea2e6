"""How often an engine's tokens chose each expert, out of what engines record (docs/workloads.md).

    python3 -m wavetune.recorded_routing expert_distribution_recorder_1764331200.pt > counts.json
    wavetune workload add qwen3 --config Qwen3-30B-A3B/ --routing counts.json

reads a file of SGLang's recorder where torch is. vLLM writes no file: chosen_experts() counts what its outputs say.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Sequence, Union

from wavetune.errors import InvalidArgumentError

__all__ = ["Routing", "chosen_experts", "read"]

# "drawn", "even", or counts by expert, or by layer and expert: lists, or what has tolist().
Routing = Union[str, Sequence[int], Sequence[Sequence[int]], Any]


def chosen_experts(chosen: Any, experts: int) -> Any:
    """Returns counts by layer and expert of one of vLLM's outputs; those of several add up.

    chosen: routed_experts of a CompletionOutput, [tokens, layers, top_k], where the engine was started with
    enable_return_routed_experts; experts: of the model. A layer without experts has zeros.
    """
    import numpy  # vLLM's own outputs need it; a client does not.

    layers = numpy.moveaxis(numpy.asarray(chosen), 1, 0)
    counts = [numpy.bincount(layer.ravel(), minlength=experts) for layer in layers]
    # What no layer wrote is 0, and no token takes one expert twice.
    dense = [layer.shape[-1] > 1 and bool((layer == 0).all()) for layer in layers]
    return numpy.array([0 * counted if none else counted for counted, none in zip(counts, dense)])


def read(path: str) -> list[list[int]]:
    """Returns counts by layer and expert of a file of SGLang's recorder, in any of its modes.

    Raises InvalidArgumentError for another file, ImportError where torch is not there.
    """
    import torch  # As in chosen_experts().

    recorded = torch.load(path, weights_only=True, map_location="cpu")
    found = recorded.keys() if isinstance(recorded, dict) else ()
    if "logical_count" in found:  # Modes stat and stat_approx: by step, layer and expert.
        counts = recorded["logical_count"].long()
    elif "records" in found and recorded["records"]:  # Modes per_pass and per_token: a record for each step.
        placed = sum(record["global_physical_count"].long() for record in recorded["records"])
        owners = recorded["last_physical_to_logical_map"].long()
        counts = torch.zeros(len(owners), int(owners.max()) + 1, dtype=torch.long).scatter_add_(1, owners, placed)
    else:
        raise InvalidArgumentError(
            f"{path} has neither logical_count nor records: give what SGLang's /dump_expert_distribution_record wrote "
            "while something was recorded"
        )
    rows: list[list[int]] = counts.reshape(-1, *counts.shape[-2:]).sum(0).tolist()
    return rows


def _main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m wavetune.recorded_routing FILE.pt > counts.json")
    try:
        json.dump(read(sys.argv[1]), sys.stdout)
    except ImportError:
        sys.exit("what torch.save wrote is read with torch: run this with the engine's Python")
    except Exception as error:  # Also what torch says of files that are none of its own.
        sys.exit(f"{sys.argv[1]}: {error}")


if __name__ == "__main__":
    _main()
