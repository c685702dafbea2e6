"""Quotas and limits instead of a full disk: the daemon says which, and goes on when they are raised."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from disks import known_device, own, quota, store_problem  # pylint: disable=wrong-import-position
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position

KERNEL = "gemm_f32"


def runs_out(node, device, what):
    """Queues jobs until one is refused; checks that the refusal names `what`."""
    for i in range(400):
        refused = node.cli("reprofile", "--kernel", KERNEL, "--device", device, "--budget", 100 + i, "--reason", "x" * 4000)
        if refused.returncode != 0:
            break
    check(what in refused.stderr, f"the refusal says what ran out: {refused.stderr.strip()[-300:]}")
    check(what in store_problem(node), "so does status")
    check("kernel log" not in refused.stderr, "nobody is sent to the kernel's log")


def comes_back(node, device):
    wait_until(lambda: store_problem(node) == "", 30, "writing goes on by itself")
    queued = node.cli("reprofile", "--kernel", KERNEL, "--device", device, "--budget", 7)
    check(queued.returncode == 0 and node.daemon.poll() is None, f"a job is queued again {queued.stderr.strip()}")


def file_size_limit():
    with Node() as node:
        node.add_kernel(KERNEL)
        node.start_daemon()
        device = known_device(node)
        pid = str(node.daemon.pid)
        subprocess.run(["prlimit", "--pid", pid, "--fsize=65536:unlimited"], check=True)
        runs_out(node, device, "limit on file sizes")
        subprocess.run(["prlimit", "--pid", pid, "--fsize=unlimited"], check=True)
        comes_back(node, device)


def used_up_quota():
    with Node() as node, quota(node.folder / "image", node.folder / "disk") as limit:
        own(node.folder, limit.USER)
        node.store = limit.folder / "store"
        node.add_kernel(KERNEL)
        try:
            user = {"user": limit.USER, "group": limit.USER, "extra_groups": []}
            node.start_daemon(**user)
            device = known_device(node)
            node.stop(node.daemon)
            node.start_daemon(**user)  # With an empty log, which has taken no space yet.
            limit.set(spare_kib=64)
            runs_out(node, device, "disk quota")
            limit.set(spare_kib=None)
            comes_back(node, device)
        finally:
            node.stop(node.daemon)


def scenario():
    file_size_limit()
    used_up_quota()


main(scenario)
