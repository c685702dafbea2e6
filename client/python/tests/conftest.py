import pytest
import tables

import wavetune


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """A client of no daemon, with the golden tables in its cache."""
    folder = tmp_path_factory.mktemp("offline")
    tables.add_to_cache(folder / "cache", *tables.DIMENSIONS)
    return wavetune.connect(f"unix:{folder}/nobody.sock", cache_dir=folder / "cache", timeout_s=1)


@pytest.fixture(scope="session")
def golden(client):
    """Returns the tuner of a golden table by its name."""
    tuners = {}

    def get(name):
        if name not in tuners:
            tuners[name] = client.tuner(tables.KERNEL, digest=tables.digest(name))
        return tuners[name]

    return get


@pytest.fixture
def gemm(golden):
    return golden("gemm")


@pytest.fixture
def grouped(golden):
    return golden("grouped_gemm")
