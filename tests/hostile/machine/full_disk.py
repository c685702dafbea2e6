"""A disk that fills up under the store and gets space again: the daemon serves on, says so, and goes on by itself.

Three rounds in which the log cannot be written and nothing is to be flushed, one in which the log still has room and a
flush has not; then jobs that were cancelled meanwhile, over a kill -9.
"""

import signal

from disks import admin, fill, known_device, store_health, store_problem, tmpfs
from node import Node, check, main, proto, wait_until

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
        queued = reprofile(node, device, "--budget", 200 + 10 * number + i)
        check(queued.returncode == 0, f"round {number}: a job is queued again {queued.stderr.strip()}")


def flush_without_room(node, disk, device):
    """Writes until the log has taken what it may and the flush fails. Returns the ids of the jobs acknowledged."""
    import grpc  # pylint: disable=import-outside-toplevel
    messages = proto("admin_service_pb2")
    acknowledged = []
    with admin(node) as service:
        def queue(budget):
            request = messages.ReprofileRequest(kernel=KERNEL, device_uuid=device, budget_s=budget, reason="x" * 4000)
            acknowledged.append(service.Reprofile(request, timeout=60).jobs[0].id)

        queue(1000)  # The log takes its space from the disk.
        fill(disk / "fill")
        try:
            for i in range(2000):
                queue(1001 + i)
            check(False, "a full disk ends the writes")
        except grpc.RpcError as error:
            check(error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, f"a flush without room is told: {error.details()[:200]}")
    check(store_problem(node) != "", "status says so")
    (disk / "fill").unlink()
    comes_back(node, "after the flush")
    return acknowledged


def ended_while_full(node, disk, device):
    queued = node.reprofile(KERNEL, "--device", device, "--budget", 7)
    fill(disk / "fill")
    check(reprofile(node, device, "--budget", 8).returncode == 1, "the disk is full")
    check(node.cli("jobs", "cancel", queued).returncode == 0, "a job is cancelled while the disk is full")
    (disk / "fill").unlink()
    comes_back(node, "after the cancelling")
    node.stop(node.daemon, signal.SIGKILL)
    node.start_daemon()
    state = node.json("jobs", "show", queued).get("state")
    check(state == "CANCELLED", f"after a kill it is still cancelled ({state})")


def scenario():
    with Node() as node, tmpfs(node.folder / "disk", "32m") as disk:
        node.store = disk / "store"
        node.add_kernel(KERNEL)
        node.start_daemon()
        device = known_device(node)
        try:
            for number in range(3):
                log_without_room(node, disk, device, number)
            ended_while_full(node, disk, device)
            acknowledged = flush_without_room(node, disk, device)
            node.stop(node.daemon, signal.SIGKILL)
            node.start_daemon()
            stored = {int(job["id"]) for job in node.json("jobs", "list", "--limit", 10000)["jobs"]}
            check(set(acknowledged) <= stored, f"all {len(acknowledged)} acknowledged jobs are there after a kill")
        finally:
            node.stop(node.daemon)


main(scenario)
