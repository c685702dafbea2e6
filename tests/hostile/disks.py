"""Small disks for scenarios, and what a daemon says of its store.

    with tmpfs(node.folder / "disk", "24m") as disk: ...

Mounting needs root: without it a scenario is skipped.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

from node import proto, stub


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


class Quota:
    """A limit on a folder's bytes: of a btrfs subvolume, or of user `nobody` on ext4, whichever the machine has."""

    USER = 65534  # root has no quota on ext4.

    def __init__(self, disk):
        self.disk = disk
        self.folder = disk / "quota"
        self.btrfs = False

    def make(self, image):
        """Makes the file system in a file and mounts it; returns why not, or nothing."""
        why = self._try(["mkfs.btrfs", "-q", image], ["mount", "-o", "loop", image, self.disk],
                        ["btrfs", "quota", "enable", self.disk], ["btrfs", "subvolume", "create", self.folder])
        if why is None:
            self.btrfs = True
            return None
        subprocess.run(["umount", "-l", self.disk], capture_output=True, check=False)
        also = self._try(["mkfs.ext4", "-q", "-F", "-O", "quota", image],
                         ["mount", "-o", "loop,usrquota", image, self.disk])
        if also is None:
            self.folder.mkdir()
            return None
        return f"{why}; {also}"

    @staticmethod
    def _try(*commands):
        for command in commands:
            text = " ".join(map(str, command))
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError as error:
                return f"{text}: {error.strerror}"
            if done.returncode != 0:
                return f"{text}: {done.stderr.strip()}"
        return None

    def set(self, spare_kib):
        """Leaves room for `spare_kib` more; None: no limit."""
        used = sum(file.stat().st_blocks // 2 for file in self.folder.rglob("*") if file.is_file())
        if self.btrfs:
            subprocess.run(["sync", "-f", self.folder], check=True)
            limit = "none" if spare_kib is None else f"{used + spare_kib}k"
            subprocess.run(["btrfs", "qgroup", "limit", limit, self.folder], check=True)
        else:
            limit = 0 if spare_kib is None else used + spare_kib
            subprocess.run(["setquota", "-u", str(self.USER), "0", str(limit), "0", "0", self.disk], check=True)


@contextlib.contextmanager
def quota(image, disk, mib=256):
    """A folder with a Quota on a file system of its own in the file `image`, mounted at `disk`."""
    with open(image, "wb") as file:
        file.truncate(mib << 20)
    disk.mkdir()
    made = Quota(disk)
    why = made.make(image)
    try:
        if why is not None:
            skip(f"no file system with quotas: {why}")
        yield made
    finally:
        subprocess.run(["umount", "-l", disk], capture_output=True, check=False)


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
    with stub(node.socket(), "StatusService") as service:
        return service.GetStatus(proto("status_service_pb2").GetStatusRequest(), timeout=20).store_problem


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
