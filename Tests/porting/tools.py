"""Helpers shared by the tests of ported programs: compiling against the built library, Apple's library, and running."""

import os
import shutil
import subprocess

from library import BUILD, INCLUDE, output
from public_headers import apple_include, clang, toolchain

LIB = BUILD / "lib"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {name: path for name, path in (("gcc", shutil.which("gcc")), ("clang", clang())) if path}


def ours(names=False):
    """Returns the flags that link the library; `names`: with CF's names as symbols."""
    return [f"-L{LIB}", *(["-lrunloop-cf"] if names else []), "-lrunloop", f"-Wl,-rpath,{LIB}"]


def apples(*libraries):
    """Returns the flags that link libraries of the toolchain."""
    directory = toolchain() / "lib" / "swift" / "linux"
    return [f"-L{directory}", f"-Wl,-rpath,{directory}", *(f"-l{name}" for name in libraries)]


def has_apples(library):
    return apple_include() is not None and (toolchain() / "lib/swift/linux" / f"lib{library}.so").exists()


def compile_program(compiler, program, *sources, flags=(), libraries=(), text=None):
    """Compiles and links a program. `text` is its source if there is no source file."""
    command = [compiler, *STRICT, f"-I{INCLUDE}", "-pthread", *flags, *sources]
    if text is not None:
        program.with_suffix(".c").write_text(text)
        command.append(program.with_suffix(".c"))
    output(*command, "-o", program, *libraries)
    return program


def run(*command, expected=None, **environment):
    """Returns the program's output. The program must succeed, print nothing on stderr, and make no mistake."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                            env={**os.environ, "LD_LIBRARY_PATH": str(LIB), "RUNLOOP_MISUSE": "abort", **environment})
    assert (result.returncode, result.stderr) == (0, ""), f"ended with {result.returncode}\n{result.stdout}{result.stderr}"
    if expected is not None:
        assert result.stdout == expected
    return result.stdout
