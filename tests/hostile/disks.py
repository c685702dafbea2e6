"""Small disks for scenarios, and what a daemon says of its store.

    with tmpfs(node.folder / "disk", "24m") as disk: ...

Mounting needs root: without it a scenario is skipped.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

from node import stub


def skip(why):
    """Ends the scenario: the machine lacks what it needs."""
    print(f"skipped: {why}", flush=True)
    sys.exit(0)


@contextlib.contextmanager
def tmpfs(path, size):
    """A file system of `size` in memory at `path`."""
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True, text=True,
                             check=False)
    if mounted.returncode != 0:
        skip(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=False)


@contextlib.contextmanager
def ext4_with_quota(image, path, mib):
    """An ext4 file system with user quotas in the file `image`, mounted at `path`."""
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    path.mkdir()
    for command in (["mkfs.ext4", "-q", "-O", "quota", image], ["mount", "-o", "loop,usrquota", image, path]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            skip(str(error))
        if done.returncode != 0:
            skip(f"no file system with quotas: {' '.join(map(str, command))}: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=False)


def fill(path):
    """Writes to `path` until the disk takes no more."""
    block = b"\0" * 65536
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 512, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(block[:size])


def known_device(node):
    """Attaches an agent once, so that the daemon knows a device; returns its UUID. No agent is left."""
    node.start_agent()
    uuid = node.json("devices")["devices"][0]["facts"]["uuid"]
    node.stop(node.agent)
    return uuid


def store_problem(node):
    """What status says of a store that cannot be written; empty where it can."""
    return node.json("status")["status"].get("store_problem", "")


def store_health(node):
    """grpc.health.v1's word on the store: SERVING or NOT_SERVING."""
    import grpc  # pylint: disable=import-outside-toplevel
    request = b"\x0a" + bytes([len(b"wavetune.store")]) + b"wavetune.store"
    with grpc.insecure_channel(node.socket()) as channel:
        answer = channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=20)
    return {b"\x08\x01": "SERVING", b"\x08\x02": "NOT_SERVING"}.get(answer, repr(answer))


@contextlib.contextmanager
def admin(node):
    """A stub of AdminService."""
    with stub(node.socket("admin"), "AdminService") as service:
        yield service


def own(path, user):
    """Gives a folder and what is in it to a user."""
    os.chown(path, user, user)
    for name in pathlib.Path(path).rglob("*"):
        os.chown(name, user, user)
