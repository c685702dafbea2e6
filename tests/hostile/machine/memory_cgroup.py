"""An agent with too little memory for its workers: nothing is held against the candidates."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cgroup import Cgroup, skip  # pylint: disable=wrong-import-position
from node import Node, check, main  # pylint: disable=wrong-import-position

# For one worker of PoCL with room to spare, and too little for four.
ENOUGH_MIB = 230


def many_candidates(node):
    """A kernel with 16 candidates that compile fast."""
    node.add_kernel("column_sum")
    manifest = node.kernels / "column_sum/manifest.textproto"
    text = manifest.read_text()
    manifest.write_text(text.replace("values: [8, 32]", "values: [8, 16, 32, 64]"))


def scenario():
    group = Cgroup.create("memory")
    if group is None:
        skip("no cgroup with a limit on memory can be made here")
    with group, Node() as node:
        many_candidates(node)
        node.start_daemon()
        group.limit_memory(ENOUGH_MIB)
        node.start_agent("--prepare-workers", 4, wrapper=group.wrapper())

        job = node.wait_for_job(node.reprofile("column_sum"))
        check(job["state"] == "SUCCEEDED", f"a profile with {ENOUGH_MIB} MiB for four workers ends: {job['message']}")
        check(not job["excluded"], f"no candidate is excluded ({group.oom_kills()} kills by the kernel)")
        check(node.agent.poll() is None, "the agent lives on")

        group.limit_memory(1024)
        job = node.wait_for_job(node.reprofile("column_sum"))
        check(job["state"] == "SUCCEEDED" and not job["excluded"], f"with memory the next job has all: {job['message']}")
        check("could not be compiled" not in job["message"], "and finds them in order")


main(scenario)
