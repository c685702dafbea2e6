"""5,000 connections to the reader socket, silent ones and ones that speak HTTP/2: nobody else is kept out."""

import pathlib
import resource
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, wait_until  # pylint: disable=wrong-import-position

CONNECTIONS = 5000
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def connect(path, say):
    """A connection; one that is refused while it speaks has ended already."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(path)  # Waits while too many wait to be accepted.
    if say:
        try:
            connection.send(say)
        except BrokenPipeError:
            pass
    return connection


def said(connection):
    """What the daemon said before it ended the connection; None where it goes on."""
    connection.settimeout(0.05)
    text = b""
    try:
        while True:
            more = connection.recv(4096)
            if not more:
                return text
            text += more
    except (TimeoutError, BlockingIOError):
        return None
    except OSError:
        return text


def scenario():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    with Node() as node:
        # As systemd starts it: the soft limit is the daemon's to raise.
        node.start_daemon(wrapper=["prlimit", f"--nofile=1024:{hard}"])
        path = node.socket().removeprefix("unix:")

        silent = [connect(path, b"") for _ in range(CONNECTIONS)]
        check(node.cli("status", timeout=20).returncode == 0, f"status answers beside {CONNECTIONS} silent connections")
        print(f"note: {memory_mib(node.daemon.pid):.0f} MiB beside them", flush=True)
        for connection in silent:
            connection.close()

        speaking = [connect(path, PREFACE) for _ in range(CONNECTIONS)]
        last = wait_until(lambda: said(speaking[-1]), 60, "the last connection is refused")
        refused = [last] + [text for text in (said(c) for c in speaking[-50:-1]) if text is not None]
        check(len(refused) == 50, "connections beyond the bound of one user are refused")
        check(any(b"the most that one user may have" in text for text in refused), "who is refused is told why")
        print(f"note: {memory_mib(node.daemon.pid):.0f} MiB beside them", flush=True)
        check(memory_mib(node.daemon.pid) < 256, "the daemon stays below 256 MiB")
        check(node.cli("status", timeout=30).returncode == 0,
              "the operator's status answers beside them: a place is kept for each process of the daemon's user")
        for connection in speaking:
            connection.close()
        wait_until(lambda: node.cli("status", timeout=30).returncode == 0, 30, "status answers once they are closed")
        check(node.log().count("\n") < 60, "thousands of refusals are a few lines in the log")


main(scenario)
