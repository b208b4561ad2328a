"""The archives written by `make dist` and `make dist-bin`: complete, reproducible, and usable wherever they are unpacked."""

import hashlib
import os
import platform
import re
import subprocess
import tarfile

import pytest

from library import BUILD, ROOT, archive, libraries, output, shared

MACHINE = f"{platform.machine()}-linux"
TICKS = (ROOT / "examples/expected/hello.txt").read_text()


def make(target, directory):
    shared(), archive()
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    result = subprocess.run(["make", "-s", "-o", "all", target, f"BUILD={BUILD}", f"DIST={directory}"], cwd=ROOT, env=environment,
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return {path.name: path for path in directory.iterdir()}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dist")
    make("dist", directory)
    return make("dist-bin", directory)


@pytest.fixture(scope="module")
def version():
    return re.search(r"^VERSION *:= (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]


def test_archives_have_their_names(archives, version):
    assert sorted(archives) == [f"librunloop-{version}{rest}" for rest in (f"-{MACHINE}.tar.gz", ".spdx", ".tar.gz")]


def test_source_is_what_was_committed(archives, version):
    committed = output("git", "ls-tree", "-r", "--name-only", "-z", "HEAD", cwd=ROOT).split("\0")[:-1]
    with tarfile.open(archives[f"librunloop-{version}.tar.gz"]) as source:
        found = sorted(member.name.partition("/")[2] for member in source if not member.isdir())
    assert found == sorted(committed)


def test_spdx_names_the_archive_and_both_licences(archives, version):
    text = archives[f"librunloop-{version}.spdx"].read_text()
    said = dict(line.split(": ", 1) for line in text.partition("PackageName: libbsd")[0].splitlines() if ": " in line)
    digest = hashlib.sha256(archives[f"librunloop-{version}.tar.gz"].read_bytes()).hexdigest()
    assert said["PackageChecksum"] == f"SHA256: {digest}" and said["PackageVersion"] == version
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["Created"]) and said["PackageLicenseDeclared"] == "MIT"
    assert "\nPackageLicenseConcluded: BSD-2-Clause\n" in text and not re.search(r"@\w+@", text)


def test_archives_made_again_are_the_same(archives, tmp_path):
    make("dist", tmp_path)
    again = make("dist-bin", tmp_path)
    assert {name: path.read_bytes() for name, path in again.items()} == {name: path.read_bytes() for name, path in archives.items()}


@pytest.mark.parametrize("variables, who", [({"DEBFULLNAME": "A Name", "DEBEMAIL": "name@a.org"}, "A Name <name@a.org>"),
                                            ({"DEBEMAIL": ""}, None)])
def test_packages_are_from_who_makes_them(variables, who):
    """From Debian's variables, or else the author of the commit."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")} | variables
    commands = output("make", "-n", "deb", cwd=ROOT, env=environment)
    who = who or output("git", "log", "-1", "--format=%an <%ae>", cwd=ROOT).strip()
    assert f"s|@MAINTAINER@|{who}|" in commands
    for name in ("control", "changelog"):
        assert (ROOT / f"packaging/debian/{name}.in").read_text().count("@MAINTAINER@") == 1


@pytest.fixture
def unpacked(archives, version, tmp_path):
    with tarfile.open(archives[f"librunloop-{version}-{MACHINE}.tar.gz"]) as binaries:
        assert {(member.uid, member.gid) for member in binaries} == {(0, 0)}
        assert len({member.mtime for member in binaries}) == 1
        binaries.extractall(tmp_path)
    return tmp_path / f"librunloop-{version}-{MACHINE}"


@pytest.mark.parametrize("package", ["runloop", "runloop-cf"])
def test_binaries_serve_where_they_are_unpacked(unpacked, package):
    place = unpacked.with_name("elsewhere")
    unpacked.rename(place)
    source = (ROOT / "examples/hello.c").read_text()
    if package == "runloop-cf":
        source = re.sub(r"\b(k?)RL(?=[A-Z])", r"\1CF", source).replace("<RunLoop/RunLoop.h>", "<CoreFoundation/CoreFoundation.h>")
    (place / "hello.c").write_text(source)
    environment = dict(os.environ, PKG_CONFIG_PATH=str(place / "lib/pkgconfig"))
    flags = output("pkg-config", "--cflags", "--libs", package, env=environment).split()
    output("cc", "-std=c11", place / "hello.c", "-o", place / "hello", *flags, f"-Wl,-rpath,{place}/lib")
    assert output(place / "hello") == TICKS


def test_binaries_have_their_licence_and_manual(unpacked):
    for name in ("LICENSE", "share/man/man3/RLRunLoopRun.3", "share/man/man7/runloop.7", "share/doc/runloop/examples/hello.c"):
        assert (unpacked / name).is_file(), name


def test_libraries_work_with_every_glibc_since_2_34():
    for library in libraries():
        found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", output("readelf", "-VW", library))
        assert found and max((int(major), int(minor)) for major, minor in found) <= (2, 34), library.name
