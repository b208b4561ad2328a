"""Flags and tools that a user or a distribution sets, as dpkg-buildflags does, reach every command of the build."""

import os
import re
import subprocess

import pytest

from library import ROOT, output

TOOLS = {"CLANG": "clang", "AR": "ar", "STRIP": "strip", "OBJCOPY": "objcopy", "NM": "nm"}
FLAGS = {"CPPFLAGS": "-DOF_THE_USER", "CFLAGS": "-O1", "LDFLAGS": "-Wl,-z,origin"}


def make(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", *FLAGS)} | variables
    return output("make", "--no-print-directory", *words, cwd=ROOT, env=environment)


def commands(directory, **variables):
    """Returns the commands that `make` executes for an empty build directory, one per line."""
    text = make("-n", f"BUILD={directory}", "LIBBSD=/usr/lib/libbsd.a", "-o", "/usr/lib/libbsd.a", "libraries", **variables)
    return re.sub(r"\\\n", " ", text).splitlines()


def test_flags_reach_every_command(tmp_path):
    lines = commands(tmp_path, **FLAGS)
    compiling = [line for line in lines if re.search(r" -c Sources/\S+\.c\b| -c .*\.c ", line)]
    linking = [line for line in lines if re.search(r"^clang.* -(?:shared|pie)\b", line)]
    assert len(compiling) > 20 and len(linking) == 5
    assert [line for line in compiling if "-DOF_THE_USER" not in line or line.rindex("-O1") < line.rindex("-O")] == []
    assert [line for line in linking if "-Wl,-z,origin" not in line] == []


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_can_be_replaced(tool, tmp_path):
    lines = commands(tmp_path, **{tool: "another-tool"})
    assert any(line.startswith("another-tool ") for line in lines)
    assert [line for line in lines if re.search(rf"(?:^|[;|&(] *){TOOLS[tool]} ", line)] == []


def test_debian_flags_do_no_harm(tmp_path):
    """Builds the command and one C file with them; `make deb` builds the libraries with them."""
    flags = {"CPPFLAGS": "-Wdate-time -D_FORTIFY_SOURCE=2", "LDFLAGS": "-Wl,-z,relro",
             "CFLAGS": "-g -O2 -fstack-protector-strong -Wformat -Werror=format-security -Werror"}
    make("-s", f"BUILD={tmp_path}", f"{tmp_path}/bin/runloop", f"{tmp_path}/obj/Format.o", **flags)
    assert subprocess.run([tmp_path / "bin/runloop", "--help"], capture_output=True).returncode == 0
