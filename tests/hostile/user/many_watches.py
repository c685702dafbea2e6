"""240,000 watches opened and closed leave nothing behind."""

import pathlib
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, proto, wait_until  # pylint: disable=wrong-import-position

WATCHES = 240_000
WARM_UP = 80_000  # Until the allocator has what it needs.
AT_ONCE = 100  # A connection has 128 calls at once.
RETURN_S = 15  # The daemon returns memory within 10 s of the end of many watches.


def watch(stub, request, number):
    """Opens and closes `number` watches, many at once."""
    for _ in range(number // AT_ONCE):
        calls = [stub.WatchTables(request) for _ in range(AT_ONCE)]
        # Each has begun once its first notice is there; the rest is not waited for.
        next(calls[-1])
        for call in calls:
            call.cancel()


def scenario():
    messages = proto("table_service_pb2")
    services = proto("table_service_pb2_grpc")
    with Node() as node:
        node.start_daemon()
        with grpc.insecure_channel(node.socket()) as channel:
            stub = services.TableServiceStub(channel)
            request = messages.WatchTablesRequest()
            watch(stub, request, WARM_UP)
            before = settled_mib(node)
            watch(stub, request, WATCHES - WARM_UP)
            after = settled_mib(node)
            check(after - before < 4,
                  f"after {WARM_UP} watches {before:.1f} MiB, after {WATCHES} {after:.1f} MiB")
            stream = stub.WatchTables(request)
            check(next(stream).kind == messages.WatchTablesResponse.SYNCED, "a watch begins as ever")
            stream.cancel()


def settled_mib(node):
    """Returns the memory without watchers, once what is free was returned."""
    wait_until(lambda: node.json("status").get("watchers") == 0, 60, "no watcher is left")
    time.sleep(RETURN_S)
    return memory_mib(node.daemon.pid)


main(scenario)
