"""Daemon and agent as the first process of a container: what others leave behind is collected, and TERM ends them in order."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position


def first_of(process):
    """The number that the first process of the container has outside of it."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(wait_until(children.read_text, 10, "there is a first process").split()[0])


def commands_in(first):
    """Number, state and name of every process in the container of `first`."""
    result = subprocess.run(["nsenter", "-t", str(first), "-p", "-m", "ps", "-e", "-o", "pid=,stat=,comm="],
                            capture_output=True, text=True, check=True)
    return [line.split(None, 2) for line in result.stdout.splitlines()]


def hold_up(name, process):
    """Leaves orphans in a container and ends it."""
    first = first_of(process)
    for _ in range(20):
        subprocess.run(["nsenter", "-t", str(first), "-p", "-m", "sh", "-c", "(sleep 0.2 &); (sleep 0.1 &)"], check=True)
    time.sleep(0.5)
    wait_until(lambda: all(command != "sleep" for _, _, command in commands_in(first)), 10,
               f"the {name} as first process collects what has ended")
    check(all(not state.startswith("Z") for _, state, _ in commands_in(first)), f"no zombies stay with the {name}")
    os.kill(first, signal.SIGTERM)
    check(process.wait(30) == 0, f"TERM ends the {name} in order")


def scenario():
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "nsenter", "ps"))):
        print("skipped: only root makes containers, with unshare, nsenter and ps", flush=True)
        return
    container = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
    with Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon(wrapper=container)
        node.start_agent(wrapper=container)
        hold_up("agent", node.agent)
        hold_up("daemon", node.daemon)


main(scenario)
