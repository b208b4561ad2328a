import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("packaging", "abi", "headers")]

from installing import make


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """A directory with an installed library."""
    destination = tmp_path_factory.mktemp("installed")
    make("install", destination)
    return destination


@pytest.fixture(scope="session")
def multiarch(tmp_path_factory):
    """As Debian's packages have it: libraries in a folder that is named after the machine."""
    destination = tmp_path_factory.mktemp("multiarch")
    make("install", destination, "LIBDIR=/usr/lib/x86_64-linux-gnu")
    return destination
