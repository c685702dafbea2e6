"""Control groups of a hostile scenario: a limit on memory or processes for what is started through `wrapper()`.

    group = Cgroup.create("memory")
    if group is None:
        skip("no cgroup can be made")
    with group:
        group.limit_memory(230)
        node.start_agent(wrapper=group.wrapper())

Version 1 and 2; needs the right to create one beside our own, as root has it.
"""

import contextlib
import os
import pathlib
import sys
import time


def skip(why):
    """Ends the scenario: the machine lacks what it needs."""
    print(f"skipped: {why}", flush=True)
    sys.exit(0)


def _own(controller):
    """The folder of our own cgroup and whether it is of version 2; None where there is none."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        for mount in mounts:
            kind = mount[mount.index("-") + 1]
            options = mount[-1].split(",")
            if number == "0" and kind == "cgroup2":
                folder = pathlib.Path(mount[4] + path)
                enabled = folder / "cgroup.controllers"
                if enabled.exists() and controller in enabled.read_text().split():
                    return folder, True
            elif number != "0" and kind == "cgroup" and controller in controllers.split(",") and controller in options:
                return pathlib.Path(mount[4] + path), False
    return None


class Cgroup:
    """One cgroup beside or below our own; removed at the end."""

    def __init__(self, folder, v2):
        self.folder = folder
        self.v2 = v2

    @staticmethod
    def create(controller):
        """Returns a new cgroup with a controller, or None where none can be made."""
        own = _own(controller)
        if own is None:
            return None
        folder, v2 = own
        # A cgroup of version 2 with processes cannot hand its controllers down.
        parents = [folder] if not v2 else [folder.parent, folder]
        for parent in parents:
            group = parent / f"wavetune-hostile-{os.getpid()}-{controller}"
            with contextlib.suppress(OSError):
                group.mkdir()
                limit = {"memory": ("memory.max" if v2 else "memory.limit_in_bytes"), "pids": "pids.max"}[controller]
                if (group / limit).exists():
                    return Cgroup(group, v2)
                group.rmdir()
        return None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for _ in range(100):  # Until the last process is gone.
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.1)

    def limit_memory(self, mib):
        name = "memory.max" if self.v2 else "memory.limit_in_bytes"
        for _ in range(100):  # Version 1 refuses a limit below what is in use, until it has reclaimed enough.
            try:
                (self.folder / name).write_text(str(mib << 20))
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.folder / name} cannot be set to {mib} MiB")

    def limit_processes(self, count):
        (self.folder / "pids.max").write_text(str(count))

    def processes(self):
        """How many processes and threads it holds."""
        return int((self.folder / "pids.current").read_text())

    def oom_kills(self):
        name = "memory.events" if self.v2 else "memory.oom_control"
        for line in (self.folder / name).read_text().splitlines():
            if line.split()[0] == "oom_kill":
                return int(line.split()[1])
        return 0

    def wrapper(self):
        """Goes before a command that shall run in it."""
        return ["/bin/sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh"]
