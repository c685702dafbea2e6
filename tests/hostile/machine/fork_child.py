"""A process that uses WaveTune forks: its children decide, ask, connect anew and end, in C and in Python."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import BIN, ROOT, Node, check, main  # pylint: disable=wrong-import-position

BUILD = BIN.parent

C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wavetune/wavetune.h>

static wavetune_client* client = NULL;
static wavetune_tuner* tuner = NULL;
static wavetune_client_options options = WAVETUNE_CLIENT_OPTIONS_INIT;

static int Decides(const wavetune_tuner* with) {
  const int64_t problem[] = {1000, 200};
  wavetune_decision decision;
  return wavetune_tuner_resolve(with, problem, 2, &decision) == WAVETUNE_OK &&
         decision.origin == WAVETUNE_ORIGIN_DAEMON;
}

static int DecidesAndCloses(void) {
  const int decides = Decides(tuner);
  wavetune_tuner_close(tuner);
  wavetune_client_close(client);
  return !decides;
}

static int AsksWithTheParentsClient(void) {
  wavetune_tuner* other = NULL;
  if (wavetune_client_get_tuner(client, "column_sum", NULL, &other) != WAVETUNE_OK) return 1;
  return !Decides(other);
}

static int ConnectsAnew(void) {
  wavetune_client* own = NULL;
  wavetune_tuner* other = NULL;
  if (wavetune_client_connect(&options, &own) != WAVETUNE_OK) return 1;
  if (wavetune_client_get_tuner(own, "column_sum", NULL, &other) != WAVETUNE_OK) return 2;
  if (!Decides(other)) return 3;
  for (int i = 0; i < 500 && !wavetune_client_watching(own); ++i) usleep(10000);
  if (!wavetune_client_watching(own)) return 4;
  wavetune_tuner_close(other);
  wavetune_client_close(own);
  return 0;
}

static int JustExits(void) { exit(Decides(tuner) ? 0 : 1); }

static int Child(int (*function)(void), const char* what) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    exit(function());
  }
  waitpid(child, &status, 0);
  printf("%s %d\n", what, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  fflush(stdout);
  return status;
}

int main(int argc, char** argv) {
  int failed = 0;
  (void)argc;
  setvbuf(stdout, NULL, _IONBF, 0);
  options.endpoint = argv[1];
  options.cache_dir = argv[2];
  if (wavetune_client_connect(&options, &client) != WAVETUNE_OK ||
      wavetune_client_get_tuner(client, "column_sum", NULL, &tuner) != WAVETUNE_OK) {
    fprintf(stderr, "%s\n", wavetune_last_error());
    return 1;
  }
  for (int i = 0; i < 5; ++i) {
    failed |= Child(DecidesAndCloses, "decides_and_closes");
    failed |= Child(AsksWithTheParentsClient, "asks");
    failed |= Child(ConnectsAnew, "connects");
    failed |= Child(JustExits, "exits");
  }
  if (!Decides(tuner)) return 2;
  wavetune_tuner_close(tuner);
  wavetune_client_close(client);
  return failed != 0;
}
"""

PYTHON_PROGRAM = r"""
import multiprocessing
import os
import signal
import sys
import time

import wavetune

endpoint, cache = sys.argv[1:3]
client = wavetune.connect(endpoint, cache_dir=cache)
tuner = client.tuner("column_sum")
PROBLEM = {"n": 1000, "k": 200}
assert tuner.resolve(**PROBLEM).origin is wavetune.Origin.DAEMON


def decides(out):
    out.put(("decides", str(tuner.resolve(**PROBLEM).source)))


def asks(out):
    out.put(("asks", str(client.tuner("column_sum").origin)))


def connects(out):
    own = wavetune.connect(endpoint, cache_dir=cache)
    fresh = own.tuner("column_sum")
    deadline = time.monotonic() + 10
    while not own.watching and time.monotonic() < deadline:
        time.sleep(0.01)
    out.put(("connects", f"{fresh.origin} {own.watching}"))


context = multiprocessing.get_context("fork")
for function in (decides, asks, connects):
    results = context.SimpleQueue()
    process = context.Process(target=function, args=(results,))
    process.start()
    process.join(20)
    if process.exitcode is None:
        process.kill()
        sys.exit(f"{function.__name__} hangs")
    assert process.exitcode == 0, (function.__name__, process.exitcode)
    print(*results.get(), flush=True)

for _ in range(3):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:  # A plain exit: the interpreter takes everything down, client and tuner included.
        signal.alarm(20)
        tuner.resolve(**PROBLEM)
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"a plain exit in a child ends with {status}"
print("exits", flush=True)
assert client.watching
"""


def c_library():
    found = sorted(BUILD.glob("**/libwavetune.so.1")) or sorted(BUILD.glob("**/libwavetune.so"))
    return found[0] if found else None


def in_c(node):
    library = c_library()
    if library is None or shutil.which("gcc") is None:
        print("skipped: C: no libwavetune.so in the build tree, or no gcc")
        return
    include = node.folder / "include/wavetune"
    include.mkdir(parents=True)
    shutil.copy(ROOT / "client/include/wavetune/wavetune.h", include)
    source = node.folder / "fork_child.c"
    source.write_text(C_PROGRAM)
    program = node.folder / "fork_child"
    subprocess.run(["gcc", "-std=gnu99", "-O1", "-Wall", "-Werror", f"-I{include.parent}", source, "-o", program,
                    library, f"-Wl,-rpath,{library.parent}"], check=True)
    result = subprocess.run([program, node.socket(), node.folder / "c-tables"], capture_output=True, text=True,
                            timeout=120, check=False)
    bad = [line for line in result.stdout.splitlines() if not line.endswith(" 0")]
    check(result.returncode == 0 and not bad, f"20 forks of a C program end well {bad} {result.stderr.strip()}")


def in_python(node):
    python = pathlib.Path(os.environ.get("WAVETUNE_PYTHON", BUILD / "python/venv/bin/python"))
    if subprocess.run([python, "-c", "import wavetune"], capture_output=True, check=False).returncode != 0 \
            if python.exists() else True:
        print(f"skipped: Python: {python} has no package wavetune (ctest -R python_package_test makes it)")
        return
    program = node.folder / "fork_child.py"
    program.write_text(PYTHON_PROGRAM)
    result = subprocess.run([python, program, node.socket(), node.folder / "python-tables"], capture_output=True,
                            text=True, timeout=120, check=False)
    print(result.stdout, end="")
    check(result.returncode == 0, f"multiprocessing and os.fork in Python end well {result.stderr.strip()[-500:]}")
    check("connects Origin.DAEMON True" in result.stdout, "a client that connects in a child hears of new tables")


def scenario():
    with Node() as node:
        node.add_kernel("column_sum")
        node.start_daemon()
        node.start_agent()
        node.serve_table("column_sum")
        in_c(node)
        in_python(node)
        check(node.cli("status").returncode == 0, "the daemon answers")


main(scenario)
