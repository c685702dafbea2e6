"""Deciding from many threads while tuners are fetched."""

import threading

import tables

THREADS = 4
ROUNDS = 2000


def test_threads_decide_alike_while_others_fetch_the_tuner(client):
    problems = [({"m": m, "n": 200, "k": 304}) for m in range(1, 50)]
    shared = client.tuner(tables.KERNEL, digest=tables.digest("gemm"))
    expected = [shared.resolve(**problem) for problem in problems]
    start = threading.Barrier(THREADS + 1)
    done = threading.Event()
    faults = []

    def decide():
        try:
            start.wait()
            for i in range(ROUNDS):
                which = i % len(problems)
                if shared.resolve(**problems[which]) != expected[which]:
                    faults.append(problems[which])
        except Exception as error:  # A thread's own exceptions fail no test.
            faults.append(error)

    def fetch():
        try:
            start.wait()
            while not done.is_set():
                tuner = client.tuner(tables.KERNEL, digest=tables.digest("gemm"))
                if tuner.resolve(**problems[0]) != expected[0]:
                    faults.append(problems[0])
        except Exception as error:
            faults.append(error)

    deciders = [threading.Thread(target=decide) for _ in range(THREADS)]
    fetcher = threading.Thread(target=fetch)
    for thread in [*deciders, fetcher]:
        thread.start()
    for thread in deciders:
        thread.join()
    done.set()
    fetcher.join()
    assert faults == []
