"""Python that ends while a thread is in the package, and calls that a person interrupts."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENDING = Path(__file__).with_name("ending.py")
PATIENCE_S = 60


@pytest.fixture
def nobody(tmp_path):
    return f"unix:{tmp_path}/nobody.sock"


@pytest.fixture
def hung(tmp_path):
    """A socket that takes connections, and nobody reads."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{tmp_path}/hung.sock")
    listener.listen(8)
    yield f"unix:{tmp_path}/hung.sock"
    listener.close()


def end(method, endpoint):
    """Returns the exit code of a program that ends in a method, and what it said: but gRPC, that it waits for threads."""
    command = [sys.executable, ENDING, method, endpoint]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return ended.returncode, [line for line in ended.stderr.splitlines() if "thread_pool.cc" not in line]


# Of each kind one: what asks a daemon, what runs Python's code, what makes and ends clients. All are in
# tests/hostile/python.
@pytest.mark.parametrize("method", ["tuner", "connect", "events", "explain", "resolve_any"])
def test_python_ends_in_order_while_a_thread_is_inside(method, nobody):
    assert end(method, nobody) == (0, [])


def test_a_call_that_waits_for_a_daemon_does_not_hold_up_the_end(hung):
    assert end("tuner", hung) == (0, [])


@pytest.mark.parametrize(
    "call", ["wavetune.connect(E, timeout_s=30).tuner('gemm')", "wavetune.connect(E, pin='0' * 64, timeout_s=30)"]
)
def test_an_interrupt_ends_a_call_at_once_with_one_error(call, hung, tmp_path):
    program = f"import wavetune\nE = '{hung}'\nprint('ready', flush=True)\n{call}"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = child.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - began < 5  # 0.1 s on a quiet machine, 30 where it waits.
    assert said.count("Traceback") == 1
    assert said.rstrip().endswith("KeyboardInterrupt")


def test_a_handler_that_raises_nothing_interrupts_nothing(nobody):
    program = f"""
import signal, threading, os, wavetune
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
try:
    wavetune.connect('{nobody}', cache_dir=None, timeout_s=1).tuner('gemm')
except wavetune.UnavailableError:
    print(len(seen))
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "1\n"
