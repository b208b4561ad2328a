"""A new user's first commands report what is missing, and what they are about to do."""

import os
import re
import subprocess

import pytest

from library import ROOT

#: A machine on which nothing is installed: queries report that, and installers log what they would install.
STUBS = {"dpkg-query": "exit 1", "apt-get": 'echo "$0" "$@" >> {log}', "sudo": '[ "$1" != -n ] || shift; "$@"',
         "id": "echo {uid}", "swiftc": "exit 0"}
#: Tools that exist on any machine.
TOOLS = ["sh", "make", "grep", "sed", "find", "sort", "realpath", "mktemp", "rm", "chmod", "mkdir", "env", "echo", "cat"]


@pytest.fixture
def machine(tmp_path):
    """Runs make there as a user who may use sudo without a password, as root, or as a user who may not use sudo."""
    def run(*words, uid=1000, without=(), variables={}):
        for name, body in STUBS.items():
            if name not in without:
                stub = tmp_path / "bin" / name
                stub.parent.mkdir(exist_ok=True)
                stub.write_text(f"#!/bin/sh\n{body.format(log=tmp_path / 'log', uid=uid)}\n")
                stub.chmod(0o755)
        for tool in TOOLS:
            if not (tmp_path / "bin" / tool).exists():
                (tmp_path / "bin" / tool).symlink_to(subprocess.check_output(["which", tool], text=True).strip())
        environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), **variables}
        result = subprocess.run(["make", *words, f"BUILD={tmp_path / 'build'}"], cwd=ROOT, env=environment,
                                capture_output=True, text=True, timeout=60)
        log = tmp_path / "log"
        return result.returncode, result.stdout + result.stderr, log.read_text() if log.exists() else ""
    return run


def test_without_the_toolchain_make_says_so_and_no_more(machine):
    status, said, _ = machine(without=["swiftc"])
    assert status == 2
    assert re.fullmatch(r"librunloop needs the Swift toolchain, 6\.3 or later, .* PATH\.\nmake: .* Error 1\n", said)


def test_without_libbsd_make_says_which_package_has_it(machine, tmp_path):
    status, said, _ = machine(str(tmp_path / "build/obj/flopen.o"))
    assert status == 2 and said.startswith("librunloop needs libbsd.a at build time: install Debian's libbsd-dev")


@pytest.mark.parametrize("uid, how", [(0, ""), (1000, "sudo")])
def test_setup_says_what_it_installs_before_it_does(machine, uid, how):
    status, said, done = machine("setup", "PACKAGES=one two", uid=uid)
    assert status == 0
    assert said == (f"== missing Debian packages: one two\n== installing them with {how + ' ' if how else ''}apt-get install"
                    " (SETUP=no: only lists them)\n")
    assert re.sub(r"\S+/", "", done) == "apt-get update -qq\napt-get install -y -qq one two\n"


@pytest.mark.parametrize("target", ["setup", "demo", "check"])
@pytest.mark.parametrize("uid", [0, 1000])
def test_setup_can_be_told_to_install_nothing(machine, uid, target):
    status, said, done = machine(target, "PACKAGES=one two", uid=uid, variables={"SETUP": "no"})
    assert status == 2 and done == ""
    assert said.startswith("== missing Debian packages: one two\nRun this first: sudo apt-get install one two\n")


def test_setup_installs_nothing_if_it_may_not(machine):
    status, said, done = machine("setup", "PACKAGES=one two", without=["sudo"])
    assert status == 2 and done == "" and "\nRun this first: sudo apt-get install one two\n" in said


def test_setup_leaves_other_systems_alone(machine):
    status, said, done = machine("setup", "PACKAGES=one two", without=["dpkg-query"])
    assert status == 0 and done == "" and "one two" in said


def test_demo_ends_with_what_to_read_next():
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    commands = subprocess.run(["make", "-n", "-o", "setup", "demo", "MAKE=:"], cwd=ROOT, env=environment, capture_output=True,
                              text=True, check=True).stdout
    last = commands.partition("== next: ")[2]
    pages = re.findall(r"\b(?:examples|include|docs)/[\w./]+\w", last)
    assert len(pages) > 2 and all((ROOT / page).exists() for page in pages)
