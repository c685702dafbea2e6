"""Python ends 20 times while a thread is in each method of the package; calls to a daemon that hangs are interrupted."""

import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, ROOT, check, main  # pylint: disable=wrong-import-position

TESTS = ROOT / "client/python/tests"
RUNS = 20
# As Python's own end is felt: what looks for signals does so every 50 ms.
INTERRUPTED_WITHIN_S = 0.2


def package_python():
    """The interpreter of an environment with the package of this checkout, linked with the build tree of BIN."""
    sys.path.insert(0, str(TESTS))
    import run_tests  # pylint: disable=import-outside-toplevel

    folder = BIN.parent / "python"
    python = run_tests.prepare_environment(folder / "venv")
    if python is None:
        print("skipped: PyPI cannot be reached, and there is no environment yet", flush=True)
        sys.exit(0)
    run_tests.install(python, BIN.parent, folder)
    return python


def methods(python):
    """Names of all methods that ending.py knows."""
    program = "import sys; sys.argv = ['', '', 'unix:/nobody']; import ending; print(*ending.METHODS)"
    return subprocess.run([python, "-c", program], cwd=TESTS, capture_output=True, text=True, check=True).stdout.split()


def ends(python, method, endpoint):
    """What went wrong in RUNS runs."""
    wrong = []
    for _ in range(RUNS):
        run = subprocess.run([python, TESTS / "ending.py", method, endpoint], capture_output=True, text=True, check=False,
                             timeout=60)
        # gRPC says of a slow machine that it waits for its threads.
        said = [line for line in run.stderr.splitlines() if "thread_pool.cc" not in line]
        if run.returncode != 0 or said:
            wrong.append((run.returncode, said[-3:]))
    return wrong


def seconds_to_interrupt(python, endpoint):
    """Returns how long a call to a hung daemon goes on after SIGINT, and what is said."""
    program = f"import wavetune; c = wavetune.connect('{endpoint}', timeout_s=30); print(flush=True); c.tuner('gemm')"
    # Until the interrupt is an exception: the end of Python after it is not ours.
    program = f"import time\ntry:\n    {program}\nexcept KeyboardInterrupt:\n    print(time.monotonic())"
    child = subprocess.Popen([python, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(0.3)
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    output, said = child.communicate(timeout=60)
    return float(output) - began, said


def scenario():
    # Whoever runs this in the background of a shell ignores it, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    python = package_python()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for method in methods(python):
            wrong = ends(python, method, f"unix:{folder}/nobody.sock")
            check(not wrong, f"Python ends in order while a thread is in {method}: {len(wrong)} of {RUNS} do not {wrong[:1]}")
        with socket.socket(socket.AF_UNIX) as hung:
            hung.bind(f"{folder}/hung.sock")
            hung.listen(64)
            held = []
            threading.Thread(target=lambda: held.extend(iter(hung.accept, None)), daemon=True).start()
            for method in ("tuner", "connect", "arguments", "stage_table_set"):
                wrong = ends(python, method, f"unix:{folder}/hung.sock")
                check(not wrong, f"the same with a daemon that hangs, in {method}: {wrong[:1]}")
            times = []
            for _ in range(RUNS):
                seconds, said = seconds_to_interrupt(python, f"unix:{folder}/hung.sock")
                check(not said, f"an interrupt is one error: {said[-200:]}")
                times.append(seconds)
            check(max(times) < INTERRUPTED_WITHIN_S, f"an interrupt is felt after {max(times):.3f} s at most")


main(scenario)
