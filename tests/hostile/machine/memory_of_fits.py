"""Fifty profiles of one kernel: what their fits took is given back."""

import pathlib
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import ROOT, Node, check, main, memory_mib  # pylint: disable=wrong-import-position

KERNEL = "gemm_bf16"
TRACE = ROOT / "tests/data/h200" / KERNEL
PROFILES = 50
SETTLED_S = 65  # The daemon gives memory back ten to sixty seconds after a job.


def profile(node, fresh):
    """A new profile, or a fit of the samples that are there."""
    options = ("--fresh", "--budget", 120) if fresh else ("--refit-only",)
    job = node.wait_for_job(node.reprofile(KERNEL, *options, samples=12), 1200)
    check(job["state"] == "SUCCEEDED", f"job {job['id']} ends well: {job.get('message', '')}")


def settled(node):
    time.sleep(SETTLED_S)
    return memory_mib(node.daemon.pid)


def scenario():
    with Node() as node:
        shutil.copytree(TRACE, node.kernels / KERNEL)
        node.start_daemon()
        node.start_agent("--backends", "replay", "--replay-trace", TRACE)
        for _ in range(2):
            profile(node, fresh=True)
        few = settled(node)
        for number in range(2, PROFILES):
            profile(node, fresh=number % 5 == 0)
        loaded = memory_mib(node.daemon.pid)
        many = settled(node)
        check(many <= 1.3 * few, f"{many:.0f} MiB after {PROFILES} profiles ({loaded:.0f} at once), {few:.0f} after two")


main(scenario)
