"""An agent with too little memory for its workers: nothing is held against the candidates."""

from cgroup import Cgroup, skip
from node import Node, check, main, wait_until

# For one worker of PoCL with room to spare, and too little for four.
ENOUGH_MIB = 230
TOO_LITTLE_MIB = 64


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

        node.stop(node.agent)  # Version 1 of cgroups sets no limit below what is in use.
        group.limit_memory(TOO_LITTLE_MIB)
        node.start_agent("--prepare-workers", 2, wrapper=group.wrapper())
        kills = group.oom_kills()
        job_id = node.reprofile("column_sum", "--fresh")

        def told():
            """The job failed, or waits for a worker that starts."""
            job = node.json("jobs", "show", job_id)
            return job if "out of memory" in job.get("message", "") else None
        job = wait_until(told, 240, "the job says which resource ran out")
        check(group.oom_kills() > kills, f"with {TOO_LITTLE_MIB} MiB the kernel kills workers")
        check(not job["excluded"], f"the job excludes nobody and says what to do: {job['message']}")
        check(node.agent.poll() is None, "the agent lives on")

        group.limit_memory(1024)
        if job["state"] == "FAILED":
            job_id = node.reprofile("column_sum")
        job = node.wait_for_job(job_id)
        check(job["state"] == "SUCCEEDED" and not job["excluded"], f"with memory the next job tries all: {job['message']}")
        check("could not be compiled" not in job["message"], "and finds them in order")


main(scenario)
