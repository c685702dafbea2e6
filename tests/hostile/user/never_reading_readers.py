"""Readers that open every kind of stream and never read keep nobody out and take no memory."""

import contextlib
import pathlib
import sys

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from node import Node, check, main, memory_mib, proto, wait_until  # pylint: disable=wrong-import-position
from scripted_agent import ScriptedAgent, serve_in_background  # pylint: disable=wrong-import-position

# What waits for a reader shall wait in the daemon, not in this process.
SMALL_WINDOW = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 16384),
                ("grpc.use_local_subchannel_pool", 1)]


def listing(digest):
    return proto("status_service_pb2").ListSamplesRequest(digest=digest)


def list_all(node, digest):
    """The samples that a reader who reads gets; None where it is refused."""
    with grpc.insecure_channel(node.socket()) as channel:
        try:
            stub = proto("status_service_pb2_grpc").StatusServiceStub(channel)
            return sum(len(message.profiled) for message in stub.ListSamples(listing(digest)))
        except grpc.RpcError as error:
            check(error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, f"it is told why: {error.details()}")
            return None


def never_read_listings(node, digest):
    with contextlib.ExitStack() as channels:
        streams = []
        for _ in range(8):
            channel = channels.enter_context(grpc.insecure_channel(node.socket(), SMALL_WINDOW))
            stub = proto("status_service_pb2_grpc").StatusServiceStub(channel)
            streams.append(stub.ListSamples(listing(digest)))
            # The first message only: its listing has begun.
            with contextlib.suppress(grpc.RpcError):
                next(streams[-1])
        samples = wait_until(lambda: list_all(node, digest), 20, "another reader lists")
        check(samples > 1000, f"another reader lists {samples} samples beside eight that never read")
        told = 0
        for stream in streams:
            try:
                for _ in stream:
                    pass
            except grpc.RpcError as error:
                told += error.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED)
        check(told >= 4, f"{told} of them are told that they lost their places")


def never_read_jobs(node, channel, agent):
    """A hundred readers of one long job, and a measurement whose results nobody takes."""
    messages = proto("admin_service_pb2")
    admin = proto("admin_service_pb2_grpc").AdminServiceStub(channel)
    job = admin.Reprofile(messages.ReprofileRequest(kernel="gemm_f32", fresh=True)).jobs[0].id
    before = memory_mib(node.daemon.pid)
    watches = [admin.WatchJob(messages.WatchJobRequest(id=job)) for _ in range(100)]
    record = node.wait_for_job(job)
    check(record["state"] == "SUCCEEDED", f"the job ends beside them: {record['message'][:80]}")
    last = None
    for last in watches[0]:
        pass
    check(last.job.state == 3, "who reads at last gets the end")  # SUCCEEDED
    measure = messages.MeasureRequest(kernel="gemm_f32", exhaustive=True, rounds=1)
    for m in range(1, 40):
        problem = measure.problems.add()
        for name, value in (("m", 16 * m), ("n", 256), ("k", 256)):
            problem.extents.add(dimension=name, values=[value])
    measured = agent.measured
    stream = admin.Measure(measure)
    wait_until(lambda: agent.measured > measured, 60, "it measures")
    wait_until(lambda: node.json("status").get("jobs_running") == 0, 120, "the measurement ends, read or not")
    grown = memory_mib(node.daemon.pid) - before
    check(grown < 40, f"the daemon took {grown:.1f} MiB more")
    stream.cancel()


def never_read_watches(node):
    messages = proto("table_service_pb2")
    with grpc.insecure_channel(node.socket(), SMALL_WINDOW) as channel:
        stub = proto("table_service_pb2_grpc").TableServiceStub(channel)
        watches = [stub.WatchTables(messages.WatchTablesRequest()) for _ in range(100)]
        wait_until(lambda: node.json("status").get("watchers") == 100, 30, "they watch")
        check(node.cli("tables", "list").returncode == 0, "tables are listed beside 100 that watch and never read")
        for watch in watches:
            watch.cancel()
    wait_until(lambda: node.json("status").get("watchers") == 0, 30, "they are gone")


def scenario():
    with Node() as node:
        node.add_kernel("gemm_f32")
        node.start_daemon()
        with grpc.insecure_channel(node.socket("agent")) as agents, \
                grpc.insecure_channel(node.socket("admin"), SMALL_WINDOW) as admin:
            agent = serve_in_background(ScriptedAgent(agents, ["CPU-1"]))
            wait_until(lambda: node.json("status").get("devices_attached") == 1, 30, "a device is attached")
            record = node.wait_for_job(node.reprofile("gemm_f32", samples=32))
            check(record["state"] == "SUCCEEDED" and record.get("digest"), f"a table serves: {record['message'][:80]}")
            never_read_listings(node, record["digest"])
            never_read_jobs(node, admin, agent)
            never_read_watches(node)
            agent.close()


main(scenario)
