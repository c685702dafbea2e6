"""Few descriptors: running out of them once makes no socket deaf, and the limit is raised where it may be."""

import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, Node, check, main, wait_until  # pylint: disable=wrong-import-position

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def connect(path):
    """A connection that speaks HTTP/2 and then says nothing."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)
    try:
        connection.send(PREFACE)
    except BrokenPipeError:
        pass
    return connection


def soft_limit(pid):
    """Soft limit of open files of a process."""
    with open(f"/proc/{pid}/limits", encoding="utf-8") as limits:
        return next(line.split()[3] for line in limits if line.startswith("Max open files"))


def flood(node, name, connections):
    """Takes what there is of a socket's connections, several times over."""
    path = node.socket(name).removeprefix("unix:")
    for _ in range(3):
        opened = [connect(path) for _ in range(connections)]
        for connection in opened:
            connection.close()
    wait_until(lambda: node.cli("status", timeout=30).returncode == 0, 30,
               f"status answers after {connections} connections to {name}")
    print(f"ok: status answers after {connections} connections to {name}.sock", flush=True)


def scenario():
    with Node() as node:
        node.start_daemon(wrapper=["prlimit", "--nofile=1024:4096"])
        check(soft_limit(node.daemon.pid) == "4096", "the soft limit is raised to the hard one")
        flood(node, "reader", 980)
        check(node.stop(node.daemon) == 0, "the daemon ends in order")

        refused = subprocess.run(["prlimit", "--nofile=63:63", BIN / "wavetuned", "--store", node.folder / "few-store",
                                  "--socket-dir", node.folder / "few"], stdin=subprocess.DEVNULL, capture_output=True,
                                 text=True, timeout=60, check=False)
        check(refused.returncode == 1 and "LimitNOFILE" in refused.stderr,
              f"a start with 63 descriptors is refused: {refused.stderr.strip()}")

        for hard in (1024, 128, 64):
            node.start_daemon(wrapper=["prlimit", f"--nofile={hard}:{hard}"])
            for name in ("reader", "agent", "admin"):
                flood(node, name, 980)
            check(node.stop(node.daemon) == 0, f"with {hard} descriptors the daemon held up")


main(scenario)
