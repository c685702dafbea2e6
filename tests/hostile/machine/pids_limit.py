"""An agent, then a daemon, that may start hardly any thread or process: told, survived and held against nobody."""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cgroup import Cgroup, skip  # pylint: disable=wrong-import-position
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position


def scenario():
    group = Cgroup.create("pids")
    if group is None:
        skip("no cgroup with a limit on processes can be made here")
    with group, Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        group.limit_processes(500)
        node.start_agent("--prepare-workers", 4, wrapper=group.wrapper())
        idle = group.processes()

        group.limit_processes(idle + 12)
        job = node.wait_for_job(node.reprofile("column_sum", "--fresh"))
        check(not job["excluded"], f"with room for a part of the workers nobody is excluded: {job['message']}")
        check(node.agent.poll() is None, "the agent lives on")

        node.stop(node.agent)
        group.limit_processes(500)
        node.start_agent(wrapper=group.wrapper())  # It has no worker yet.
        group.limit_processes(1)
        job_id = node.reprofile("column_sum", "--fresh")

        def told():
            job = node.json("jobs", "show", job_id)
            return job if "does not start" in job.get("message", "") else None
        job = wait_until(told, 90, "the job says that no worker starts")
        check("TasksMax" in job["message"], f"it waits, and says what to do: {job['message']}")
        check(node.agent.poll() is None, "the agent lives on")
        group.limit_processes(500)
        job = node.wait_for_job(job_id)
        check(job["state"] == "SUCCEEDED" and not job["excluded"], f"with room the waiting job ends: {job['message']}")
        node.stop(node.agent)

        # Too little to start with: an end with a reason, or as many workers as there is room for.
        for limit in (3, 6, 10):
            group.limit_processes(limit)
            agent = node.start_agent(wrapper=group.wrapper(), wait=False)
            time.sleep(3)
            code = node.stop(agent)
            check(code >= 0, f"an agent that may have {limit} threads is not aborted (it ended with {code})")


def starved_daemon():
    group = Cgroup.create("pids")
    if group is None:
        skip("no cgroup with a limit on processes can be made here")
    with group, Node() as node:
        node.add_kernel("column_sum")
        group.limit_processes(500)
        node.start_daemon(wrapper=group.wrapper())
        node.start_agent()
        node.cli("status")
        group.limit_processes(group.processes())
        job = node.wait_for_job(node.reprofile("column_sum"))
        check(job["state"] == "SUCCEEDED", f"a daemon that can start no thread runs its jobs: {job['message']}")
        check(node.daemon.poll() is None, "the daemon lives on")


def both():
    scenario()
    starved_daemon()


main(both)
