"""Connecting and fetching, without a daemon: errors are exceptions that say what to do."""

import hashlib
import os
import socket
import threading
import time

import pytest
import tables

import wavetune


def test_connecting_to_nobody_is_no_error_but_fetching_is(tmp_path):
    client = wavetune.connect(f"{tmp_path}/nobody.sock", cache_dir=None, timeout_s=1)
    with pytest.raises(wavetune.UnavailableError, match="cannot be reached.*the table cache is off.*Start wavetuned"):
        client.tuner("gemm_bf16")
    with pytest.raises(ConnectionError):
        client.tuner("gemm_bf16")


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), 1e9])
def test_a_timeout_that_makes_no_sense_is_a_value_error(timeout_s):
    with pytest.raises(ValueError, match="timeout_s is .*legal is seconds above 0, at most 3600") as raised:
        wavetune.connect("unix:/nobody", timeout_s=timeout_s)
    assert isinstance(raised.value, wavetune.InvalidArgumentError)
    assert isinstance(raised.value, wavetune.Error)


def test_the_cache_folder_may_be_a_path_a_text_or_the_environments(tmp_path, monkeypatch):
    tables.add_to_cache(tmp_path, "gemm")
    monkeypatch.setenv("WAVETUNE_CACHE_DIR", os.fspath(tmp_path))
    monkeypatch.setenv("WAVETUNE_ENDPOINT", f"unix:{tmp_path}/nobody.sock")
    for options in ({"cache_dir": tmp_path}, {"cache_dir": os.fspath(tmp_path)}, {"cache_dir": "auto"}, {}):
        tuner = wavetune.connect(timeout_s=1, **options).tuner(tables.KERNEL)
        assert tuner.digest == tables.digest("gemm")
        assert tuner.origin is wavetune.Origin.CACHE


def test_several_tables_are_a_choice_that_the_message_lists():
    client = wavetune.connect(mode="offline", table_file=tables.GOLDEN, cache_dir=None)
    with pytest.raises(wavetune.FailedPreconditionError, match="give a device, fingerprint or digest") as raised:
        client.tuner(tables.KERNEL)
    for name in tables.DIMENSIONS:
        assert tables.fingerprint(name)[:12] in str(raised.value)
    for choice in ({"fingerprint": tables.fingerprint("gemm")[:8]}, {"digest": tables.digest("gemm")}):
        assert client.tuner(tables.KERNEL, **choice).digest == tables.digest("gemm")


def test_a_table_file_decides_without_daemon_and_cache(gemm, monkeypatch):
    client = wavetune.connect(mode=wavetune.Mode.OFFLINE, table_file=tables.path("gemm"), cache_dir=None)
    assert (client.mode, client.watching) == (wavetune.Mode.OFFLINE, False)
    decision = client.tuner(tables.KERNEL).resolve(m=11, n=24, k=8)
    assert decision.origin is wavetune.Origin.FILE
    assert decision.configuration == gemm.resolve(m=11, n=24, k=8).configuration
    monkeypatch.setenv("WAVETUNE_MODE", "offline")
    monkeypatch.setenv("WAVETUNE_TABLE_FILE", str(tables.path("gemm")))
    assert wavetune.connect(cache_dir=None).tuner(tables.KERNEL).digest == tables.digest("gemm")


def test_a_client_that_is_off_answers_the_default():
    client = wavetune.connect(mode="off", table_file=tables.path("gemm"), cache_dir=None)
    tuner = client.tuner(tables.KERNEL)
    decision = tuner.resolve(m=11, n=24, k=8)
    assert (decision.source, decision.reason) == (wavetune.Source.DEFAULT, wavetune.Reason.NO_TABLE)
    assert decision.configuration == tuner.default_configuration


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "fast"}, 'mode "fast" is none: use auto, offline, off'),
        ({"table_file": "/nowhere"}, "/nowhere"),
        ({"pin": "gemm"}, "gemm"),
        ({"endpoint": "tcp://node2:7000"}, r'the option endpoint is "tcp://node2:7000"; legal is .*host:port'),
        ({"endpoint": "http://node2:7000"}, "without a scheme"),
        ({"endpoint": "node2"}, "host:port"),
    ],
)
def test_options_that_make_no_sense_are_value_errors(options, message):
    with pytest.raises(wavetune.InvalidArgumentError, match=message):
        wavetune.connect(**{"endpoint": "unix:/nobody", "cache_dir": None, **options})


def test_a_client_says_what_it_is_connected_to(tmp_path):
    client = wavetune.connect(f"{tmp_path}/nobody.sock", cache_dir=None, timeout_s=1)
    assert repr(client) == f"<wavetune.Client of unix:{tmp_path}/nobody.sock, mode auto, not connected>"
    offline = wavetune.connect("unix:/a.sock,node2:7000", mode="offline", cache_dir=None)
    assert repr(offline) == "<wavetune.Client of unix:/a.sock,node2:7000, mode offline>"


def test_a_client_lists_the_kernels_that_it_knows(client, tmp_path):
    assert client.kernels() == (tables.KERNEL,)
    assert wavetune.connect(mode="offline", cache_dir=None).kernels() == ()
    nobody = wavetune.connect(f"{tmp_path}/nobody.sock", cache_dir=None, timeout_s=1)
    with pytest.raises(wavetune.UnavailableError):
        nobody.kernels()


def test_a_closed_client_says_so_and_its_tuners_decide_on(tmp_path):
    tables.add_to_cache(tmp_path, "gemm")
    with wavetune.connect(f"{tmp_path}/nobody.sock", cache_dir=tmp_path, timeout_s=1) as client:
        tuner = client.tuner(tables.KERNEL)
        before = tuner.resolve(m=11, n=24, k=8)
    assert repr(client) == "<wavetune.Client, closed>"
    client.close()
    assert tuner.resolve(m=11, n=24, k=8) == before
    assert tuner.digest == tables.digest("gemm")
    for use in (
        lambda: client.tuner(tables.KERNEL),
        lambda: client.kernel(tables.KERNEL),
        client.kernels,
        client.table_set,
        client.step_boundary,
        lambda: client.mode,
        lambda: client.events,
        lambda: tuner.arguments,
        lambda: client.__enter__(),
    ):
        with pytest.raises(wavetune.FailedPreconditionError, match=r"the client is closed: connect\(\) makes another"):
            use()


def test_what_raises_inside_of_with_comes_through_and_the_client_is_closed():
    with pytest.raises(KeyError, match="mine"):
        with wavetune.connect(mode="offline", cache_dir=None) as client:
            raise KeyError("mine")
    assert "closed" in repr(client)


def test_closing_while_another_thread_asks_harms_nobody(tmp_path):
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        client = wavetune.connect(os.fspath(path), cache_dir=None, timeout_s=0.5, watch=False)
        raised = []

        def ask():
            try:
                client.kernels()
            except wavetune.Error as error:
                raised.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.1)
        client.close()
        thread.join()
    assert len(raised) == 1


def test_a_pinned_set_decides_and_its_digest_is_what_ranks_compare():
    digest = tables.digest("gemm")
    client = wavetune.connect(
        mode="offline", table_file=tables.GOLDEN, cache_dir=None, pin=f"{tables.KERNEL}={digest}"
    )
    tuner = client.tuner(tables.KERNEL)
    assert (tuner.digest, tuner.activation) == (digest, wavetune.Activation.PINNED)
    assert client.table_set() == {tables.KERNEL: digest}
    text = f"{tables.KERNEL} {digest}\n"
    assert client.table_set_digest() == hashlib.sha256(text.encode()).hexdigest()


def test_what_cannot_be_activated_says_why(client):
    tuner = client.tuner(tables.KERNEL, digest=tables.digest("gemm"))
    assert tuner.staged is None
    assert tuner.step_boundary() is False
    assert client.step_boundary() == 0
    with pytest.raises(wavetune.FailedPreconditionError, match="pinned"):
        tuner.activate("0" * 64)
    with pytest.raises(wavetune.Error):
        client.stage_table_set("0" * 64)
    with pytest.raises(wavetune.Error):
        client.activate_table_set("0" * 64)


def test_prepared_configurations_are_those_of_the_kernel(client):
    tuner = client.tuner(tables.KERNEL, digest=tables.digest("gemm"))
    tuner.set_prepared(tuner.configurations)
    tuner.set_prepared(dict(configuration) for configuration in tuner.configurations)
    with pytest.raises(ValueError, match='its parameters are "BLOCK_A", "BLOCK_B", "BLOCK_C", "STAGES", "VECTOR"'):
        tuner.set_prepared([{"BLOCK_A": 1}])
    with pytest.raises(ValueError, match="is no configuration"):
        tuner.set_prepared([{**tuner.default_configuration, "WARPS": 1}])
    with pytest.raises(TypeError):
        tuner.set_prepared([{**tuner.default_configuration, "STAGES": 1.5}])
    with pytest.raises(TypeError):
        tuner.set_prepared([7])
    for make in (list, tuple, iter):
        made = client.tuner(tables.KERNEL, digest=tables.digest("gemm"), prepared=make(tuner.configurations))
        assert made.digest == tuner.digest
    with pytest.raises(ValueError, match='its parameters are "BLOCK_A"'):
        client.tuner(tables.KERNEL, digest=tables.digest("gemm"), prepared=[{"BLOCK_A": 1}])
    with pytest.raises(TypeError):
        client.tuner(tables.KERNEL, digest=tables.digest("gemm"), prepared=7)


def test_an_unknown_specialisation_lists_the_known(client):
    with pytest.raises(wavetune.NotFoundError, match='has no specialisation "causal" in table 3b15bf2c504ad1aa; it has: ""') as raised:
        client.tuner(tables.KERNEL, digest=tables.digest("gemm"), specialisation="causal")
    assert isinstance(raised.value, LookupError)


def test_a_fingerprint_that_is_too_short_is_a_value_error(client):
    with pytest.raises(ValueError, match="at least 8 characters"):
        client.tuner(tables.KERNEL, fingerprint="abc")


def test_wrong_types_are_type_errors(client):
    with pytest.raises(TypeError):
        client.tuner(7)
    with pytest.raises(TypeError):
        client.tuner(tables.KERNEL, "device")
    with pytest.raises(TypeError):
        wavetune.connect("unix:/nobody", cache_dir=7)


def test_a_damaged_cached_table_is_none(tmp_path):
    tables.add_to_cache(tmp_path, "gemm")
    (tmp_path / f"{tables.digest('gemm')}.table").write_bytes(b"damaged")
    client = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=tmp_path, timeout_s=1)
    with pytest.raises(wavetune.UnavailableError, match="was damaged and has been removed"):
        client.tuner(tables.KERNEL, digest=tables.digest("gemm"))


def test_a_damaged_table_file_is_named(tmp_path):
    file = tmp_path / "gemm.table"
    file.write_bytes(b"damaged")
    with pytest.raises(wavetune.InvalidArgumentError, match="gemm.table is no table"):
        wavetune.connect(f"unix:{tmp_path}/nobody.sock", table_file=file, timeout_s=1)


def test_other_threads_run_while_a_silent_daemon_is_waited_for(tmp_path):
    """The GIL is released in tuner(): the thread that accepts its connection is one of this interpreter's."""
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        # A busy machine may not wake the thread in time: one try of many has to show it.
        assert any(_accepts_during_the_call(listener, path) for _ in range(20))


def _accepts_during_the_call(listener, path):
    client = wavetune.connect(os.fspath(path), cache_dir=None, timeout_s=1, watch=False)
    accepted_at = []
    ended = threading.Event()  # A connection that is not made yet outlives its client by gRPC's 20 s.

    def accept():
        with listener.accept()[0]:
            accepted_at.append(time.monotonic())
            ended.wait()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    with pytest.raises(wavetune.UnavailableError):
        client.tuner("gemm_bf16")
    ended_at = time.monotonic()
    ended.set()
    del client
    thread.join()
    # Held, the GIL would have let the thread on only after the call.
    return ended_at - accepted_at[0] > 0.02
