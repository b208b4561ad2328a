import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("abi", "headers")]

from installing import installed, make  # noqa: E402, F401 (a fixture)


@pytest.fixture(scope="session")
def multiarch(tmp_path_factory):
    """Returns a directory installed as Debian's packages do it: the libraries are in a folder named after the architecture."""
    destination = tmp_path_factory.mktemp("multiarch")
    make("install", destination, "LIBDIR=/usr/lib/x86_64-linux-gnu")
    return destination
