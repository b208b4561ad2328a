"""Tests leave no files behind, however they end: they create files below $TMPDIR, which is removed afterwards."""

import os
import re
import subprocess

import pytest

from core import expect_none
from public_headers import ROOT, clang

#: Other files that name /tmp, and why.
NAMES_TMP = {
    "Tests/own-directory.h": "where $TMPDIR is none, or too long for the paths of sockets",
    "Tests/own-directory.mk": "makes $TMPDIR",
    "Tests/conftest.py": "makes $TMPDIR",
    "Tests/c/test-message-port-names.c": "the library's own default",
    "Tests/tidy/test_leftovers.py": "this file",
    "examples/calculator/main.c": "an example takes away what it has made, and shows no more than that",
    "examples/file-watch.c": "the same",
    "examples/inotify.c": "the same",
    "examples/users.c": "the same",
}
#: Tests that create files and end in every possible way.
ENDINGS = r"""
#include "message-port.h"

static RLDataRef answer(UNUSED RLMessagePortRef port, UNUSED int32_t id, UNUSED RLDataRef data, UNUSED void *info) { return NULL; }
static void leave_something(void)
{
    char path[OWN_DIRECTORY_SIZE];
    use_own_directory();
    make_own_directory(path);
    ck_assert_ptr_nonnull(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
}
START_TEST(is_killed) { leave_something(); kill(getpid(), SIGKILL); }
END_TEST
START_TEST(fails) { leave_something(); ck_assert(false); }
END_TEST
START_TEST(hangs) { leave_something(); for (;;) pause(); }
END_TEST
START_TEST(passes) { leave_something(); }
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("endings");
    TCase *tcase = tcase_create("endings");
    tcase_set_timeout(tcase, 2);
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, is_killed);
    tcase_add_test(tcase, fails);
    tcase_add_test(tcase, hangs);
    tcase_add_test(tcase, passes);
    return suite;
}
"""


def test_only_these_files_name_tmp():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "Tests", "examples"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout.splitlines()
    found = {name for name in listed if (ROOT / name).is_file()
             and re.search(r"""["']/tmp\b| -d /tmp\b""", (ROOT / name).read_text(errors="replace"))}
    assert {name for name in NAMES_TMP if (ROOT / name).is_file()} == set(NAMES_TMP)
    expect_none(found ^ set(NAMES_TMP))


def test_a_test_leaves_nothing_however_it_ends(tmp_path):
    (tmp_path / "endings.c").write_text(ENDINGS)
    done = subprocess.run(["make", "-C", ROOT / "Tests/c", f"OUT={tmp_path}", f"BUILD={ROOT / 'build'}", f"CC={clang()}",
                           "SOURCES=endings.c", f"VPATH={tmp_path}", f"CFLAGS=-I{ROOT / 'Tests/c'}", "run"],
                          capture_output=True, text=True)
    assert "25%: Checks: 4, Failures: 1, Errors: 2" in done.stdout
    assert "failed: endings\n" in done.stderr
