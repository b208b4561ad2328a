"""docs/PORTING.md, "Coming from libuv, GLib, libevent or sd-event": each call in the table exists in its library."""

import re
import subprocess

import pytest

from library import INCLUDE, ROOT

#: The headers to include and the pkg-config packages for each column.
LIBRARIES = {"libuv": ("uv.h", "libuv"), "GLib": ("glib-unix.h gio/gio.h", "glib-2.0 gio-2.0 gio-unix-2.0"),
             "libevent": ("event2/event.h event2/listener.h event2/bufferevent.h event2/dns.h", "libevent"),
             "sd-event": ("systemd/sd-event.h", "libsystemd"), "here": ("RunLoop/RunLoop.h RunLoopKit/RunLoopKit.h", None)}


def rows():
    table = (ROOT / "docs/PORTING.md").read_text().partition("\n## Coming from ")[2]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_calls_are_declared(library):
    """Each is a function, type, constant or macro; parameters are not checked."""
    head, _, *body = rows()
    cells = " ".join(cell for row in body for cell in re.findall(r"`([^`]+)`", row[head.index(library)]))
    names = sorted(set(re.findall(r"\b(?:\w+_\w+|[A-Z]\w+)\b", cells)))
    assert len(names) > 10
    headers, packages = LIBRARIES[library]
    flags = [f"-I{INCLUDE}"]
    if packages:
        found = subprocess.run(["pkg-config", "--cflags", *packages.split()], capture_output=True, text=True)
        if found.returncode != 0:
            pytest.skip(f"{packages}: not installed")
        flags = found.stdout.split()
    lines = [*(f"#include <{header}>" for header in headers.split()), "unsigned long size;", "void use(void) {",
             *(f"#ifndef {name}\n    size += sizeof({name});\n#endif" for name in names), "}", ""]
    done = subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", *flags, "-xc", "-"], input="\n".join(lines), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
