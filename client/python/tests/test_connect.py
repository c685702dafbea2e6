"""Connecting and fetching, without a daemon: errors are exceptions that say what to do."""

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
    with pytest.raises(ValueError, match="timeout_s is .*give seconds above 0, at most 3600") as raised:
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


def test_several_tables_are_a_choice_that_the_message_lists(client):
    with pytest.raises(wavetune.FailedPreconditionError, match="give a device, fingerprint or digest") as raised:
        client.tuner(tables.KERNEL)
    for name in tables.DIMENSIONS:
        assert f"device of {name}" in str(raised.value)
    assert client.tuner(tables.KERNEL, device="device of gemm").digest == tables.digest("gemm")
    assert client.tuner(tables.KERNEL, fingerprint=tables.digest("gemm")[:8]).digest == tables.digest("gemm")


def test_an_unknown_specialisation_lists_the_known(client):
    with pytest.raises(wavetune.NotFoundError, match='has no specialisation "causal"; it has: ""') as raised:
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


def test_a_damaged_table_is_data_loss(tmp_path):
    tables.add_to_cache(tmp_path, "gemm")
    (tmp_path / f"{tables.digest('gemm')}.table").write_bytes(b"damaged")
    client = wavetune.connect(f"unix:{tmp_path}/nobody.sock", cache_dir=tmp_path, timeout_s=1)
    with pytest.raises(wavetune.DataLossError):
        client.tuner(tables.KERNEL, digest=tables.digest("gemm"))


def test_other_threads_run_while_a_silent_daemon_is_waited_for(tmp_path):
    """The GIL is released: this thread counts on while another one hangs in tuner()."""
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(path))
        listener.listen()
        client = wavetune.connect(os.fspath(path), cache_dir=None, timeout_s=1)
        errors = []

        def fetch():
            try:
                client.tuner("gemm_bf16")
            except wavetune.Error as error:
                errors.append(error)

        started = time.monotonic()
        thread = threading.Thread(target=fetch)
        thread.start()
        longest = 0.0
        last = started
        while thread.is_alive():
            time.sleep(0.001)
            now = time.monotonic()
            longest = max(longest, now - last)
            last = now
        took = last - started
        thread.join()
    assert len(errors) == 1
    assert took > 0.5, "the daemon was silent, so the call took its time"
    # Held, the GIL would have stopped this thread for as long as the call took.
    assert longest < took / 2
