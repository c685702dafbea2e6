"""A store that is removed, moved, emptied, damaged, copied or not mounted, and pipes where files should be."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from disks import known_device, store_health, store_problem, tmpfs  # pylint: disable=wrong-import-position
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position

KERNEL = "gemm_f32"


def store_id(node):
    return node.json("status")["store_id"]


def removed(node, device):
    shutil.rmtree(node.store)
    wait_until(lambda: "was removed" in store_problem(node), 20, "status says that the store was removed")
    wait_until(lambda: store_health(node) == "NOT_SERVING", 20, "health says so")
    refused = node.cli("reprofile", "--kernel", KERNEL, "--device", device, "--budget", 9)
    check(refused.returncode == 1 and "was removed" in refused.stderr, "a job is refused with the reason")
    check(node.cli("kernels", "list").returncode == 0 and node.daemon.poll() is None, "what is in memory is served")
    check(node.stop(node.daemon) == 0 and not node.store.exists(), "the daemon ends and makes no store")


def moved_and_put_back(node, device):
    before = store_id(node)
    aside = node.folder / "aside"
    node.store.rename(aside)
    wait_until(lambda: store_problem(node) != "", 20, "status notices a moved store")
    aside.rename(node.store)
    wait_until(lambda: store_problem(node) == "", 20, "and one that is back")
    queued = node.cli("reprofile", "--kernel", KERNEL, "--device", device)
    check(queued.returncode == 0, f"a job is queued again {queued.stderr.strip()}")
    check(store_id(node) == before, "its id is the same")


def copied(node):
    before = store_id(node)
    node.stop(node.daemon)
    original, copy = node.store, node.folder / "copy"
    shutil.copytree(original, copy)
    node.store = copy
    node.start_daemon()
    check(store_id(node) != before, "a copied store gets an id of its own")
    node.stop(node.daemon)
    node.store = original
    node.start_daemon()
    check(store_id(node) == before, "the original keeps its id")


def damaged(node, sig):
    """Whatever is missing, an empty store is not what the daemon takes it for."""
    node.stop(node.daemon, sig)
    kept = node.folder / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    node.store.rename(kept)
    for what in (".log", "CURRENT", "MANIFEST", ""):
        # Copies of one place: the record speaks of another folder, which is no excuse.
        shutil.copytree(kept, node.store)
        for file in node.store.iterdir():
            if file.name != "STORE" and what in file.name:
                file.unlink()
        daemon = node.start_daemon(wait=False)
        check(daemon.wait(60) == 1, f"a store without {what or 'anything'} is refused after signal {int(sig)}")
        check("restore a backup" in node.log().splitlines()[-1], "with what to do")
        shutil.rmtree(node.store)
    kept.rename(node.store)
    node.start_daemon()


def pipes(node):
    node.stop(node.daemon)
    for name in ("manifest.textproto", "source.cl"):
        folder = node.kernels / f"pipe_{name[0]}"
        folder.mkdir()
        if name != "manifest.textproto":
            manifest = (node.kernels / KERNEL / "manifest.textproto").read_text()
            (folder / "manifest.textproto").write_text(manifest)
            for source in (node.kernels / KERNEL).glob("*.cl"):
                os.mkfifo(folder / source.name)
        else:
            os.mkfifo(folder / name)
    node.start_daemon()
    listed = node.cli("kernels", "list").stdout
    check("is a pipe, not a file" in listed and KERNEL in listed, "pipes as manifest and source stop nothing and are named")


def put_back(node):
    """Another inode at the same path, as file systems have that number anew at each mount."""
    before = store_id(node)
    node.stop(node.daemon)
    aside = node.folder / "aside"
    node.store.rename(aside)
    shutil.copytree(aside, node.store)
    node.start_daemon()
    check(store_id(node) == before, "a folder that was put back keeps its id")
    shutil.rmtree(aside)


def not_mounted(node):
    node.stop(node.daemon)
    with tmpfs(node.folder / "disk", "64m") as disk:
        node.store = disk
        node.start_daemon()
        node.stop(node.daemon)
        subprocess.run(["umount", disk], check=True)
        daemon = node.start_daemon(wait=False)
        check(daemon.wait(60) == 1, "a store whose disk is not mounted is refused")
        check("mounted there: mount it" in node.log().splitlines()[-1], "with what to do")
        check(not any(disk.iterdir()), "and nothing is made below the mount point")


def scenario():
    with Node() as node:
        node.add_kernel(KERNEL)
        node.start_daemon()
        device = known_device(node)
        moved_and_put_back(node, device)
        copied(node)
        put_back(node)
        damaged(node, signal.SIGTERM)
        damaged(node, signal.SIGKILL)
        pipes(node)
        removed(node, device)
        node.start_daemon()
        check(store_problem(node) == "", "a daemon that is started then begins with an empty store")
        not_mounted(node)


main(scenario)
