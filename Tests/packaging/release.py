"""The slow checks of `make release-check`, which take minutes: two builds are the same; Debian packages are installed, used and purged."""

import os
import pathlib
import re
import subprocess
import tarfile

import pytest

from description import DESCRIPTIONS, committed, describe, differences
from library import BUILD, INCLUDE, ROOT, output

pytestmark = pytest.mark.timeout(1800)
TICKS = (ROOT / "examples/expected/hello.txt").read_text()
#: Lintian's messages that are expected, and why.
EXPLAINED = {"initial-upload-closes-no-bugs": "the packages are not for Debian's archive"}
PACKAGES = ["librunloop-cf0", "librunloop-cf0-dbgsym", "librunloop-dev", "librunloop-doc", "librunloop-kit0", "librunloop-kit0-dbgsym",
            "librunloop-trace", "librunloop-trace-dbgsym", "librunloop0", "librunloop0-dbgsym", "runloop-tools", "runloop-tools-dbgsym"]


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **{"env": environment, **options})
    assert result.returncode == 0, (result.stdout + result.stderr)[-3000:]
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def made():
    """Returns where `make deb` has put the source archive and the packages."""
    directory = pathlib.Path(os.environ.get("RL_DIST", BUILD / "dist"))
    assert list(directory.glob("*.deb")), "make deb has not been run"
    return directory


def test_two_builds_are_the_same(made, tmp_path):
    """From the source archive, in folders with names of different lengths."""
    built = []
    for name in ("one", "a-second-one"):
        with tarfile.open(next(made.glob("librunloop-*[0-9].tar.gz"))) as source:
            source.extractall(tmp_path / name)
        folder = next((tmp_path / name).iterdir())
        run("make", "-s", "all", "man", "SOURCE_DATE_EPOCH=1700000000", cwd=folder)
        built.append({path.relative_to(folder).as_posix(): path.read_bytes() for part in ("build/lib", "build/man")
                      for path in (folder / part).rglob("*") if path.is_file()})
    assert len(built[0]) > 500 and set(built[0]) == set(built[1])
    assert [name for name in built[0] if built[0][name] != built[1][name]] == []


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_types_are_written_down(name, tmp_path):
    """All types are committed, including new ones: from now on they stay as they are."""
    describe(tmp_path / name, DESCRIPTIONS[name])
    assert differences(committed(name), tmp_path / name) == ""


def test_packages_are_these(made):
    assert sorted(path.name.split("_")[0] for path in made.glob("*.deb")) == PACKAGES


def test_packages_for_several_machines_go_together(made):
    """A package with Multi-Arch: same depends only on such packages, so that it can be installed for two architectures at the same time."""
    words = ("Package", "Multi-Arch", "Depends", "Pre-Depends")
    found = [dict(line.split(": ", 1) for line in output("dpkg-deb", "--field", package, *words).splitlines()) for package in made.glob("*.deb")]
    same = {fields["Package"] for fields in found if fields.get("Multi-Arch") == "same"}
    ours = {fields["Package"] for fields in found}
    assert {"librunloop-dev", "librunloop-trace", "librunloop0"} <= same
    for fields in found:
        if fields["Package"] in same:
            needed = set(re.findall(r"[\w.+-]*runloop[\w.+-]*", fields.get("Depends", "") + fields.get("Pre-Depends", "")))
            assert needed & ours <= same, fields["Package"]


def test_packages_name_their_maintainer(made):
    """From Debian's variables, or the author of the commit: the name is never invented."""
    wanted = "{DEBFULLNAME} <{DEBEMAIL}>".format(**os.environ) if os.environ.get("DEBEMAIL") else \
        output("git", "log", "-1", "--format=%an <%ae>", cwd=ROOT).strip()
    assert {output("dpkg-deb", "--field", package, "Maintainer").strip() for package in made.glob("*.deb")} == {wanted}


def test_debug_packages_have_what_the_libraries_lack(made, tmp_path):
    """For each library and command that is installed stripped, a file named by its build ID, with line numbers of the project's sources."""
    for package in made.glob("*.deb"):
        run("dpkg-deb", "-x", package, tmp_path)
    stripped = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink() and path.suffix != ".debug"
                and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(stripped) == 5, stripped
    for path in stripped:
        number = re.search(r"Build ID: (\w+)", output("readelf", "-n", path))[1]
        assert ".debug_info" not in output("readelf", "-SW", path), path
        lines = output("readelf", "--debug-dump=info", tmp_path / f"usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug")
        assert "DW_TAG_compile_unit" in lines, path


def test_lintian_finds_no_fault(made):
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", ",".join(EXPLAINED),
               next(made.glob("*.changes")))
    assert re.findall(r"^[EW]: .*", said, re.MULTILINE) == []


def dpkg(root, *words):
    alone = ["--force-depends", "--force-not-root", "--force-script-chrootless"]
    return run(*([] if os.geteuid() == 0 else ["fakeroot"]), "dpkg", f"--root={root}", f"--log={root}/log", *alone, *words)


def test_packages_are_installed_used_and_purged(made, tmp_path):
    """In a separate tree that contains nothing else."""
    for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("status", "available"):
        (tmp_path / "var/lib/dpkg" / name).touch()
    dpkg(tmp_path, "-i", *made.glob("*.deb"))
    libraries = next((tmp_path / "usr/lib").glob("*-linux-gnu"))
    environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(tmp_path), PKG_CONFIG_LIBDIR=str(libraries / "pkgconfig"),
                       PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1", PKG_CONFIG_ALLOW_SYSTEM_LIBS="1")
    flags = output("pkg-config", "--cflags", "--libs", "runloop", env=environment).split()
    example = tmp_path / "usr/share/doc/runloop/examples/hello.c"
    output("cc", "-std=c11", example, "-o", tmp_path / "hello", *flags)
    assert output(tmp_path / "hello", env=dict(os.environ, LD_LIBRARY_PATH=str(libraries))) == TICKS
    shown = output("man", "RLRunLoopAddTimer", env=dict(os.environ, MANPATH=str(tmp_path / "usr/share/man"), MANPAGER="cat"))
    assert "RLRunLoopRemoveTimer" in shown
    site = tmp_path / "usr/share/doc/runloop/html"
    assert all((site / page).is_file() for page in ("index.html", "style.css", "guide/03-modes.html", "reference/RLRunLoopRun.3.html"))
    pages = list((tmp_path / "usr/share/doc/runloop").rglob("*.md"))
    assert len(pages) > 10 and [(page.name, link) for page in pages for link in re.findall(r"\]\(([^)#:\s]+)[)#]", page.read_text())
                                if not (page.parent / link).exists()] == []
    dpkg(tmp_path, "--purge", *PACKAGES)
    assert [path.as_posix() for path in (tmp_path / "usr").rglob("*") if not path.is_dir()] == []


def with_musl():
    """Returns the examples that need only the archive: {program: its sources}."""
    programs = {path.stem: sorted((ROOT / "examples").glob(f"{path.stem}/*.c")) or [ROOT / f"examples/{path.stem}.c"]
                for path in (ROOT / "examples/expected").iterdir()}
    return {name: sources for name, sources in programs.items()
            if not any(re.search(r"RunLoopKit|RunLoopTrace|RunLoop/adapters|dispatch_|\^\{|\(\^", source.read_text()) for source in sources)}


@pytest.mark.parametrize("name", with_musl())
def test_programs_are_linked_with_musl(name, tmp_path):
    output("musl-gcc", "-std=gnu11", f"-I{INCLUDE}", *with_musl()[name], ROOT / "packaging/musl.c", "-o", tmp_path / "program",
           BUILD / "lib/librunloop.a", "-static")
    environment = dict(os.environ, RUNLOOP_PORT_DIR=str(tmp_path / "ports"))
    assert output(tmp_path / "program", env=environment) == (ROOT / f"examples/expected/{name}.txt").read_text()
