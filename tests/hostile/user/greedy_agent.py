"""An agent that brings 10,000 devices, reports without end and explains itself in 200 kB."""

import pathlib
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, wait_until  # pylint: disable=wrong-import-position
from scripted_agent import ScriptedAgent  # pylint: disable=wrong-import-position


def refused_hellos(channel):
    agent = ScriptedAgent(channel, [f"GPU-{i}" for i in range(10_000)])
    code, text = agent.ended()
    agent.close()
    check(code == "RESOURCE_EXHAUSTED", f"10,000 devices are refused: {code} {text}")
    agent = ScriptedAgent(channel, ["GPU-1"], label="x" * 200_000)
    code, text = agent.ended()
    agent.close()
    check(code == "RESOURCE_EXHAUSTED", f"a label of 200 kB is refused: {code} {text}")


def many_devices_in_turn(node, channel):
    for first in range(0, 2000, 100):
        agent = ScriptedAgent(channel, [f"GPU-{i}" for i in range(first, first + 100)])
        agent.await_hello()
        wait_until(lambda: node.json("status").get("devices_attached") == 100, 30, "they are attached")
        agent.close()
        wait_until(lambda: node.json("status").get("devices_attached") == 0, 30, "they have left")
    known = node.json("status")["devices_known"]
    check(known <= 1024, f"of 2,000 devices ever seen {known} are remembered")


def threads(node):
    with open(f"/proc/{node.daemon.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))


def jobs_on_all_devices(node, channel):
    agent = ScriptedAgent(channel, [f"CPU-{i}" for i in range(128)])
    agent.await_hello()
    wait_until(lambda: node.json("status").get("devices_attached") == 128, 30, "128 devices are attached")
    before = threads(node)
    # The devices themselves are stored first; meanwhile requests that need the disk may be refused.
    wait_until(lambda: node.cli("reprofile", "--kernel", "column_sum").returncode == 0, 30, "each gets a job")
    check(threads(node) < before + 140, f"{threads(node)} threads, {before} before")
    agent.close()
    for job in node.json("jobs", "list", "--limit", 200)["jobs"]:
        node.cli("jobs", "cancel", job["id"])
    wait_until(lambda: threads(node) <= before + 8, 60, "the threads of jobs end with the jobs")
    check(True, f"then {threads(node)} threads")


def endless_reports(node, channel):
    agent = ScriptedAgent(channel, ["GPU-1"])
    agent.await_hello()
    wait_until(lambda: node.json("status").get("devices_attached") == 1, 30, "one device is attached")
    job = node.reprofile("gemm_f32", "--device", "GPU-1")
    for message in agent.stream:
        if message.HasField("prepare"):
            agent.prepare(message.prepare, excluded="r" * 200_000)
        elif message.HasField("measure"):
            break
    shown = node.json("jobs", "show", job)
    check(shown["state"] == "RUNNING", f"the job runs: {shown['state']}")
    for i in range(20_000):
        agent.send(agent.sample(message.measure.batch_id, 0, 10 + i))
    code, text = agent.ended()
    check(code == "RESOURCE_EXHAUSTED", f"20,000 samples of a batch end the stream: {code} {text}")
    check("reports more of batch" in node.log(), "the log says so")
    agent.close()
    node.cli("jobs", "cancel", job)
    shown = node.wait_for_job(job)
    longest = max((len(e.get("reason", "")) for e in shown.get("excluded", [])), default=0)
    check(0 < longest < 5000, f"reasons of 200 kB are cut: {longest} bytes")


def endless_device_reports(node, channel):
    before, lines = memory_mib(node.daemon.pid), node.log().count("\n")
    for _ in range(5):
        agent = ScriptedAgent(channel, ["GPU-7"])
        agent.await_hello()
        for i in range(20_000):
            message = agent.messages.AttachRequest()
            message.device.device_uuid = "GPU-7"
            message.device.problem = f"problem {i}"
            message.device.facts.uuid = "GPU-7"
            message.device.facts.driver = f"driver {i}"
            agent.send(message)
        code, text = agent.ended()
        agent.close()
        check(code == "RESOURCE_EXHAUSTED", f"20,000 reports of a device end the stream: {code} {text}")
        wait_until(lambda: node.json("status").get("devices_attached", 0) == 0, 30, "it has left")
    grown = memory_mib(node.daemon.pid) - before
    check(grown < 40, f"that took {grown:.0f} MiB")
    lines = node.log().count("\n") - lines
    check(lines < 60, f"and {lines} lines in the log")


def scenario():
    with Node() as node:
        node.add_kernel("gemm_f32")
        node.add_kernel("column_sum")
        node.start_daemon()
        before = memory_mib(node.daemon.pid)
        with grpc.insecure_channel(node.socket("agent")) as channel:
            refused_hellos(channel)
            many_devices_in_turn(node, channel)
            jobs_on_all_devices(node, channel)
            endless_reports(node, channel)
            endless_device_reports(node, channel)
        grown = memory_mib(node.daemon.pid) - before
        check(grown < 120, f"the daemon took {grown:.0f} MiB more")


main(scenario)
