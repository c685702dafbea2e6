"""An agent that is stopped for 40 s while a job comes, and a second agent for the same device."""

import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main, wait_until  # pylint: disable=wrong-import-position


def scenario():
    with Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        node.start_agent()
        agent = node.agent

        second = node.start("second", [BIN / "wavetune-agent", "--endpoint", node.folder / "agent.sock", "--backends",
                                       "opencl", "--cache-dir", node.folder / "programs"])
        wait_until(lambda: "held by another agent" in node.log("second"), 60, "the second agent is told why")
        check(f":{agent.pid} " in node.log("second"), "it is told which process holds the device")
        check("CANCELLED" not in node.log("second"), "and not that something was cancelled")
        node.stop(second)

        agent.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            wait_until(lambda: "silent for" in node.cli("devices").stdout, 30, "the device is shown as silent")
            device = node.json("devices")["devices"][0]
            check(device["silent_s"] > 9, f"for {device['silent_s']:.0f} s by then")
            time.sleep(max(0.0, stopped + 32 - time.monotonic()))
            job_id = node.reprofile("column_sum", "--device", device["facts"]["uuid"])

            def waiting():
                job = node.json("jobs", "show", job_id)
                return job if job.get("message", "").startswith("waiting for the agent") else None
            job = wait_until(waiting, 30, "the job waits")
            check(job["state"] != "FAILED", f"it says for what: {job['message']}")
            check("silent" not in node.cli("devices").stdout, "the device is not said to be attached any more")
            time.sleep(max(0.0, stopped + 40 - time.monotonic()))
            check(node.json("jobs", "show", job_id)["state"] == "RUNNING", "after 40 s it still waits")
        finally:
            agent.send_signal(signal.SIGCONT)
        job = node.wait_for_job(job_id, 120)
        check(job["state"] == "SUCCEEDED", f"it goes on once the agent is back: {job['message']}")
        check(agent.poll() is None, "the agent lives on")


main(scenario)
