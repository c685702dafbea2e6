"""A thread that accepts and hangs ends the daemon with the reason; a process that was stopped is not taken for one."""

import ctypes
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, wait_until  # pylint: disable=wrong-import-position

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WAIT_FOR_THREADS = 0x40000000  # __WALL
LOOKS = 30  # A second apart.


def acceptors(pid):
    """Threads that accept, in the order of their start: of the reader, the agent and the admin socket."""
    tasks = pathlib.Path(f"/proc/{pid}/task")
    return sorted(int(task.name) for task in tasks.iterdir() if (task / "comm").read_text().strip() == "acceptor")


def hang(thread):
    """Stops one thread of a child. Returns whether that may be done here."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    if libc.ptrace(PTRACE_SEIZE, thread, None, None) != 0:
        return False
    if libc.ptrace(PTRACE_INTERRUPT, thread, None, None) != 0:
        return False
    os.waitpid(thread, WAIT_FOR_THREADS)
    return True


def has_ended(process, thread):
    """Whether a process has ended that a traced thread, dead, may keep from being waited for."""
    try:
        os.waitpid(thread, WAIT_FOR_THREADS | os.WNOHANG)
    except ChildProcessError:
        pass
    return process.poll() is not None


def scenario():
    with Node() as node:
        node.start_daemon()
        node.daemon.send_signal(signal.SIGSTOP)
        time.sleep(LOOKS + 5)
        node.daemon.send_signal(signal.SIGCONT)
        wait_until(lambda: node.cli("status").returncode == 0, 30, "status answers")
        time.sleep(2)
        check(node.daemon.poll() is None, "a daemon that was stopped for a while goes on")

        threads = acceptors(node.daemon.pid)
        check(len(threads) == 3, "a thread accepts for each socket")
        if not hang(threads[0]):
            print("skipped: this machine lets nobody stop a thread (ptrace)", flush=True)
            return
        since = time.monotonic()
        wait_until(lambda: has_ended(node.daemon, threads[0]), 2 * LOOKS, "the daemon ends")
        check(time.monotonic() - since > LOOKS - 5, "a daemon whose reader socket hangs ends, not before half a minute")
        check(node.daemon.returncode == 1, f"its exit code asks for a new one: {node.daemon.returncode}")
        line = next((line for line in node.log().splitlines() if "nobody can connect" in line), "")
        check("reader.sock any more: the thread that accepts hangs" in line, f"it says why: {line}")

        node.start_daemon()
        check(node.stop(node.daemon) == 0, "another daemon starts at once in its place")


main(scenario)
