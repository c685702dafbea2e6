"""An agent whose device is made up: it answers every batch at once, and does what a scenario tells it to.

    with grpc.insecure_channel(node.socket("agent")) as channel:
        agent = ScriptedAgent(channel, ["GPU-1"])
        threading.Thread(target=agent.serve, daemon=True).start()
        ...
        agent.close()
"""

import queue
import threading

import grpc

from node import proto


class ScriptedAgent:
    """A stream to the daemon."""

    def __init__(self, channel, uuids, label="a device"):
        self.messages = proto("agent_service_pb2")
        self.measured = 0
        self._outbox = queue.Queue()
        self._stop = threading.Event()
        self.stream = proto("agent_service_pb2_grpc").AgentServiceStub(channel).Attach(iter(self._outbox.get, None))
        hello = self.messages.AttachRequest()
        hello.hello.api_version = 1000
        hello.hello.agent_name = "scripted"
        for uuid in uuids:
            hello.hello.devices.add(uuid=uuid, label=label, backend="opencl", architecture="x86-64",
                                    multiprocessors=4)
        self.send(hello)
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def send(self, message):
        self._outbox.put(message)

    def await_hello(self):
        return next(self.stream)

    def serve(self):
        """Answers batches until the stream ends."""
        try:
            for message in self.stream:
                if message.HasField("prepare"):
                    self.prepare(message.prepare)
                elif message.HasField("measure"):
                    self.measure(message.measure)
        except grpc.RpcError:
            pass

    def prepare(self, batch, excluded=None):
        """Compiles all; all but the first are excluded where `excluded` is a reason."""
        for i in range(len(batch.configurations)):
            message = self.messages.AttachRequest()
            message.candidate.batch_id = batch.batch_id
            message.candidate.index = i
            if excluded is None or i == 0:
                message.candidate.facts.tiles_per_wave = 64
                message.candidate.facts.blocks_per_multiprocessor = 16
            else:
                message.candidate.excluded_reason = excluded
            self.send(message)
        self.done(batch)

    def measure(self, batch):
        """Larger values are faster."""
        for i, item in enumerate(batch.requests):
            product = 1
            for value in item.configuration.values:
                product *= max(value, 1)
            self.send(self.sample(batch.batch_id, i, 1e4 / product))
            self.measured += 1
        self.done(batch)

    def sample(self, batch_id, index, latency_us):
        message = self.messages.AttachRequest()
        message.sample.batch_id = batch_id
        message.sample.index = index
        sample = message.sample.sample
        sample.latency_us = sample.min_us = latency_us
        sample.launches = 10
        sample.device_time_us = 10 * latency_us
        return message

    def done(self, batch):
        message = self.messages.AttachRequest()
        message.done.batch_id = batch.batch_id
        self.send(message)

    def ended(self):
        """Reads to the end; returns the status code's name and its text."""
        try:
            for _ in self.stream:
                pass
        except grpc.RpcError as error:
            return error.code().name, error.details()
        return "OK", ""

    def close(self):
        self._stop.set()
        self._outbox.put(None)
        self.stream.cancel()
        self._heart.join()

    def _beat(self):
        beat = self.messages.AttachRequest()
        beat.heartbeat.SetInParent()
        while not self._stop.wait(2):
            self.send(beat)


def serve_in_background(agent):
    threading.Thread(target=agent.serve, daemon=True).start()
    return agent
