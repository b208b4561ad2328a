"""Runs examples that watch descriptors under Valgrind: nothing may be lost, not even possibly, as when a block is known by
its inside only. (A program whose every run shows "possibly lost" hides its own leaks.)
"""

import subprocess

import pytest
from test_examples import EXAMPLES, environment, compile_program

PROGRAMS = ["port-source", "chat", "echo", "listener", "relay", "rooms", "socket-chat", "upload", "signalfd", "inotify"]
LEAK = 9
VALGRIND = ["valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,possible",
            "--show-leak-kinds=definite,possible", f"--error-exitcode={LEAK}", "--child-silent-after-fork=yes"]

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_lost(name, tmp_path):
    program = compile_program("gcc", name, tmp_path / name)
    log = tmp_path / "valgrind.log"
    result = subprocess.run([*VALGRIND, f"--log-file={log}", program], capture_output=True, text=True, timeout=60,
                            env=environment(name, program), stdin=subprocess.DEVNULL)
    assert result.returncode == 0, log.read_text() + result.stderr
    assert result.stdout == (EXAMPLES / "expected" / f"{name}.txt").read_text()
