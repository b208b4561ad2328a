"""Installs what is in $RL_BUILD, and queries pkg-config about it."""

import os
import subprocess

import pytest

from library import BUILD, ROOT, archive, output, shared


def make(target, destination, *variables):
    """Returns the errors that make and its commands print. It does not check whether the library is up to date: the
    tests are about what is in $RL_BUILD."""
    shared(), archive()
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    result = subprocess.run(["make", "-o", "all", target, f"BUILD={BUILD}", f"DESTDIR={destination}", "PREFIX=/usr", *variables],
                            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stderr


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Returns a directory with an installed library."""
    destination = tmp_path_factory.mktemp("installed")
    make("install", destination)
    return destination


def files(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir())


def pkg_config(installed, *words, package="runloop"):
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(installed),
                       PKG_CONFIG_PATH=str(installed / "usr/lib/pkgconfig"), PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1",
                       PKG_CONFIG_ALLOW_SYSTEM_LIBS="1")
    return output("pkg-config", *words, package, env=environment).split()
