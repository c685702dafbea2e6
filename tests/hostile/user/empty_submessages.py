"""A small request must not take gigabytes: 60 MB of empty submessages, alone and many at once."""

import concurrent.futures
import pathlib
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, peak_memory_mib  # pylint: disable=wrong-import-position

RESOLVE = "/wavetune.v1.DecisionService/Resolve"
EMPTY_PROBLEM = b"\x22\x00"
# Far below the unit's 512 MiB; the daemon alone takes some 30.
MOST_MIB = 256


def send(target, method, request):
    """The status code of a call whose request are these bytes, on a connection of its own."""
    with grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = channel.unary_unary(method, request_serializer=None, response_deserializer=None)
        try:
            call(request, timeout=60)
        except grpc.RpcError as error:
            return error.code(), error.details()
        return grpc.StatusCode.OK, ""


def scenario():
    with Node() as node:
        node.start_daemon()
        before = memory_mib(node.daemon.pid)
        huge = EMPTY_PROBLEM * 30_000_000
        code, details = send(node.socket(), RESOLVE, huge)
        check(code == grpc.StatusCode.RESOURCE_EXHAUSTED, f"30 million empty problems are refused: {details}")
        print(f"note: {before:.0f} MiB before, at most {peak_memory_mib(node.daemon.pid):.0f}", flush=True)
        check(peak_memory_mib(node.daemon.pid) < before + 96, "they take some tens of MiB")

        for size, request in (("4 MB", EMPTY_PROBLEM * 2_000_000), ("400 kB", EMPTY_PROBLEM * 200_000)):
            code, details = send(node.socket(), RESOLVE, request)
            check(code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT),
                  f"{size} of empty problems are refused: {details}")
        check(peak_memory_mib(node.daemon.pid) < before + 128, "they take some tens of MiB, too")

        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            answers = list(pool.map(lambda _: send(node.socket(), RESOLVE, huge)[0], range(24)))
        check(grpc.StatusCode.OK not in answers, f"24 of them at once are refused: {set(a.name for a in answers)}")
        print(f"note: at most {peak_memory_mib(node.daemon.pid):.0f} MiB", flush=True)
        check(peak_memory_mib(node.daemon.pid) < MOST_MIB, f"all of it takes less than {MOST_MIB} MiB")
        check(node.cli("status").returncode == 0, "status answers")


main(scenario)
