"""What all tests start leaves its temporary files in one directory, which goes at the end, whatever becomes of a test."""

import os
import tempfile

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_temporary_directory(tmp_path_factory):
    tmp_path_factory.getbasetemp()  # pytest's own stay where pytest keeps those of its last runs
    # Directly in /tmp: the paths of sockets in there are short. Programs run as other users may go through.
    with tempfile.TemporaryDirectory(prefix="runloop-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        os.chmod(directory, 0o711)
        # Names of message ports are there, too, apart from those of the C tests and of other test processes.
        os.environ["TMPDIR"] = tempfile.tempdir = directory
        os.environ["XDG_RUNTIME_DIR"] = directory
        yield
