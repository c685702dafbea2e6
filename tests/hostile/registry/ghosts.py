"""Somebody without a key says that a node profiles which is nobody, and deletes what nodes tell of themselves."""

import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fleet import Fleet, TurningAgent  # pylint: disable=wrong-import-position
from node import check, main, proto, wait_until  # pylint: disable=wrong-import-position

KERNEL, OTHER = "repeats", "tiles_2d"


def ghost():
    return proto("fleet_pb2").FleetHolder(node="ghost", profile="f" * 16).SerializeToString()


def holders(fleet):
    node = fleet.nodes[0]
    holder = f"profiles/{fleet.place}/{KERNEL}/holder"
    fleet.etcd.put(holder, ghost())
    job = node.wait_for_job(node.reprofile(KERNEL, "--fresh"), 60)
    check(job["state"] == "SUCCEEDED", f"a holder of no session holds nothing: {job.get('message', '')}")
    check("no node's session" in node.log() + fleet.nodes[1].log(), "the log says what it was")

    fleet.etcd.put(holder, ghost(), fleet.etcd.grant(3600))
    waiting = node.reprofile(KERNEL, "--fresh")
    wait_until(lambda: "waits for node ghost" in node.log(), 30, "the log says for whom the job waits")
    job = node.wait_for_job(node.reprofile(OTHER, "--fresh"), 60)
    check(job["state"] == "SUCCEEDED", f"another job of the device goes first: {job.get('message', '')}")
    job = node.wait_for_job(waiting, 300)
    check(job["state"] == "SUCCEEDED", f"a holder whose node is not there holds nothing: {job.get('message', '')}")


def presences(fleet):
    fleet.etcd.delete("nodes/")
    wait_until(lambda: len(fleet.etcd.keys("nodes/")) == len(fleet.nodes), 90, "all nodes tell again that they live")


def rollout(fleet):
    node = fleet.nodes[0]
    head = lambda: fleet.etcd.get(f"heads/{fleet.place}/{KERNEL}")  # pylint: disable=unnecessary-lambda-assignment
    before = head()
    ended = threading.Event()

    def delete():
        while not ended.wait(0.1):
            fleet.etcd.delete("nodes/")
    deleting = threading.Thread(target=delete)
    deleting.start()
    try:
        # What nodes know of each other is some seconds old.
        time.sleep(12)
        TurningAgent.turned = True
        result = node.cli("reprofile", "--kernel", KERNEL, "--fleet", "--stages", "34,67,100", "--hold", "2",
                          "--samples-per-candidate", "8", "--fresh")
        check(result.returncode == 0, f"a rollout is asked for {result.stderr.strip()}")
        wait_until(lambda: any("waits: no node of its class" in one.log() for one in fleet.nodes) or head() != before, 120,
                   "the rollout begins")
        time.sleep(10)
        check(head() == before, "a rollout that sees no node passes no stage")
    finally:
        ended.set()
        deleting.join()
    wait_until(lambda: head() != before or fleet.etcd.get(f"trials/{fleet.place}/{KERNEL}") is None, 180,
               "it goes on when the nodes are back")


def scenario():
    with Fleet(3, kernels=(KERNEL, OTHER)) as fleet:
        fleet.serve(KERNEL)
        presences(fleet)
        holders(fleet)
        rollout(fleet)
        check(all(node.daemon.poll() is None for node in fleet.nodes), "all nodes live")


main(scenario)
