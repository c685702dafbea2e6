"""Text that is not UTF-8, in calls by the thousand: a few lines in the log, each of them the log's own."""

import pathlib
import re
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main  # pylint: disable=wrong-import-position

CALLS = 20_000
# Field 1, a kernel's name of one byte that is no text.
REQUEST = b"\x0a\x01\xe9"
LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z (DEBUG|INFO |WARN |ERROR) \w+: ")


def scenario():
    with Node() as node:
        node.start_daemon()
        with grpc.insecure_channel(node.socket()) as channel:
            call = channel.unary_unary("/wavetune.v1.DecisionService/Resolve", request_serializer=None,
                                       response_deserializer=None)
            codes = set()
            end = time.monotonic() + 20
            for _ in range(CALLS):
                try:
                    call(REQUEST, timeout=30)
                except grpc.RpcError as error:
                    codes.add(error.code())
                if time.monotonic() > end:
                    break
        check(codes == {grpc.StatusCode.INVALID_ARGUMENT}, f"each is told what is wrong: {codes}")
        time.sleep(11)  # An interval of the log: the repetitions are summed up without another line.
        lines = node.log().splitlines()
        check(len(lines) < 30, f"the log has {len(lines)} lines")
        foreign = [line for line in lines if not LINE.match(line)]
        check(not foreign, f"nothing is written past the log {foreign[:3]}")
        check(any(re.search(r"repeated [\d,]+ times in \d+ s", line) for line in lines), "repetitions are summed up")
        result = node.cli("resolve", b"caf\xe9", "n=1")
        check(len(result.stderr) < 2000, "the command line bounds what it says, too")


main(scenario)
