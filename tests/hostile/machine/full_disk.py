"""A disk that fills up under the store and gets space again: the daemon serves on, says so, and goes on by itself.

Three rounds in which the log cannot be written and nothing is to be flushed, one in which the log still has room and a
flush has not, with a job that is cancelled meanwhile, and a kill -9.
"""

import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from disks import admin, fill, known_device, store_health, store_problem, tmpfs  # pylint: disable=wrong-import-position
from node import Node, check, main, proto, wait_until  # pylint: disable=wrong-import-position

KERNEL = "gemm_f32"


def reprofile(node, device, *arguments):
    return node.cli("reprofile", "--kernel", KERNEL, "--device", device, *arguments)


def comes_back(node, what):
    wait_until(lambda: store_problem(node) == "", 30, f"{what}: writing goes on by itself")
    wait_until(lambda: store_health(node) == "SERVING", 30, f"{what}: health says so")
    check(node.daemon.poll() is None, f"{what}: the daemon lives, writes succeed again without being asked for")


def log_without_room(node, disk, device, number):
    node.stop(node.daemon)
    node.start_daemon()  # With an empty log.
    fill(disk / "fill")
    refused = reprofile(node, device, "--budget", 100 + number)
    check(refused.returncode == 1 and "the disk of the store is full" in refused.stderr, "a full disk refuses with the reason")
    check("the disk of the store is full" in store_problem(node), "status says why nothing can be stored")
    wait_until(lambda: store_health(node) == "NOT_SERVING", 20, "health says that the store is not serving")
    check("NOTHING CAN BE STORED" in node.cli("status").stdout, "status shows it to people")
    check(node.cli("tables", "list").returncode == 0, "reading goes on")
    (disk / "fill").unlink()
    comes_back(node, f"round {number}")
    for i in range(2):
        # Cancelled, so that nothing is written when the daemon starts again.
        queued = node.reprofile(KERNEL, "--device", device, "--budget", 200 + 10 * number + i)
        check(node.cli("jobs", "cancel", queued).returncode == 0, f"round {number}: and cancelled")
        node.wait_for_job(queued)


def until_refused(node, device):
    """Queues jobs until the disk refuses one. Each is cancelled before the next: only so many may wait. Returns the ids of those
    that were acknowledged."""
    import grpc  # pylint: disable=import-outside-toplevel
    messages = proto("admin_service_pb2")
    acknowledged = []
    with admin(node) as service:
        try:
            for i in range(8000):
                request = messages.ReprofileRequest(kernel=KERNEL, device_uuid=device, budget_s=1001 + i, reason="x" * 1000)
                acknowledged.append(service.Reprofile(request, timeout=60).jobs[0].id)
                service.CancelJob(messages.CancelJobRequest(id=acknowledged[-1]), timeout=60)
        except grpc.RpcError as error:
            check(error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED and "the disk of the store is full" in error.details(),
                  f"the disk refuses, and says so: {error.details()[:200]}")
            return acknowledged
    check(False, "a full disk ends the writes")


def flush_without_room(node, disk, device):
    """The log has the space it took from the disk; the flush when it is used up has none. A job is cancelled meanwhile."""
    cancelled = node.reprofile(KERNEL, "--device", device, "--budget", 7)
    fill(disk / "fill")
    acknowledged = until_refused(node, device)
    check("the disk of the store is full" in store_problem(node), "status says so")
    check(node.cli("jobs", "cancel", cancelled).returncode == 0, "a job is cancelled while the disk is full")
    wait_until(lambda: store_health(node) == "NOT_SERVING", 20, "health says that the store is not serving")
    (disk / "fill").unlink()
    comes_back(node, "after the flush")
    node.stop(node.daemon, signal.SIGKILL)
    node.start_daemon()
    state = node.json("jobs", "show", cancelled).get("state")
    check(state == "CANCELLED", f"after a kill it is still cancelled ({state})")
    stored = {int(job["id"]): job["state"] for job in node.json("jobs", "list", "--limit", 10000)["jobs"]}
    missing = [job for job in acknowledged if job not in stored]
    check(len(acknowledged) > 100 and not missing, f"all {len(acknowledged)} acknowledged jobs are there (not: {missing[:5]})")
    back = [job for job in acknowledged if stored[job] != "CANCELLED"]
    check(not back, f"none of them waits again (but: {back[:5]})")


def scenario():
    with Node() as node, tmpfs(node.folder / "disk", "32m") as disk:
        node.store = disk / "store"
        node.add_kernel(KERNEL)
        node.start_daemon()
        device = known_device(node)
        try:
            for number in range(3):
                log_without_room(node, disk, device, number)
            flush_without_room(node, disk, device)
        finally:
            node.stop(node.daemon)


main(scenario)
