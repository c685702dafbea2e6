"""A program that ends while a thread of its, a daemon, is in one method of the package, again and again.

    python ending.py METHOD ENDPOINT     # METHOD of METHODS; ENDPOINT: a daemon's socket that may be nobody's, or hang
"""

import sys
import threading
import time

import tables

import wavetune

PROBLEM = {"m": 11, "n": 24, "k": 8}


class Extent:
    """An extent whose value is Python code's."""

    def __index__(self):
        return sum(1 for _ in range(11))


def connect():
    endpoint = sys.argv[2]
    return wavetune.connect(endpoint, table_file=tables.path("gemm"), cache_dir=None, timeout_s=1)


def without_errors(call):
    """A call that asks somebody who does not answer, as programs do that try again."""

    def attempt():
        try:
            call()
        except wavetune.Error:
            pass

    return attempt


client = wavetune.connect(mode="offline", table_file=tables.path("gemm"), cache_dir=None)
tuner = client.tuner(tables.KERNEL)
asking = connect()
METHODS = {
    "tuner": without_errors(lambda: asking.tuner(tables.KERNEL)),
    "tuner_of_nothing": without_errors(lambda: asking.tuner("nothing")),
    "connect": without_errors(lambda: connect().mode),
    "arguments": without_errors(lambda: tuner.arguments),
    "add_workload": without_errors(lambda: asking.add_workload("model", {"hidden_size": 1})),
    "publish_table_set": without_errors(asking.publish_table_set),
    "stage_table_set": without_errors(lambda: asking.stage_table_set("0" * 64)),
    "table_set": lambda: client.table_set(),
    "events": lambda: client.events,
    "last_problem": lambda: client.last_problem,
    "explain": lambda: tuner.explain(**PROBLEM),
    "resolve": lambda: tuner.resolve(**PROBLEM),
    "resolve_any": lambda: tuner.resolve(m=Extent(), n=24, k=8),
    "resolve_together": lambda: tuner.resolve_together([("", PROBLEM)] * 2),
    "configurations": lambda: tuner.configurations,
    "dimensions": lambda: tuner.dimensions,
    "staged": lambda: tuner.staged,
    "set_prepared": lambda: tuner.set_prepared(tuner.configurations),
    "activate": without_errors(lambda: tuner.activate("0" * 64)),
    "repr": lambda: repr(tuner),
}


def again_and_again(call):
    while True:
        call()


if __name__ == "__main__":
    threading.Thread(target=again_and_again, args=(METHODS[sys.argv[1]],), daemon=True).start()
    time.sleep(0.1)
