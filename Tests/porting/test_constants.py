"""Constant CFStrings in clang's layout: static initializers, in every kind of program and with every linker."""

import shutil

import pytest

from library import archive, output
from public_headers import clang
from tools import LIB, STRICT, compile_program, ours, run

pytestmark = [pytest.mark.timeout(120), pytest.mark.skipif(clang() is None, reason="clang is not installed")]

PROGRAM = r"""
#include <CoreFoundation/CoreFoundation.h>
#include <stdio.h>
#include <string.h>

static const CFStringRef name = CFSTR("a name");
static const CFStringRef wide = CFSTR("na\u00efve \U0001F600");
static const struct { CFStringRef mode; int order; } table[] = {{CFSTR("mode one"), 1}, {CFSTR(""), 2}};
extern const CFStringRef elsewhere;

static int fired;
static void fire(CFRunLoopTimerRef timer, void *info)
{
    (void)timer, (void)info;
    fired++;
}

static int check(CFStringRef string, const char *text)
{
    CFStringRef made = CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
    char buffer[64];
    /* In an order that takes each accessor first for some string. */
    int right = CFHash(made) == CFHash(string) && CFEqual(string, made) && CFEqual(made, string) &&
                CFStringGetLength(string) == CFStringGetLength(made) && CFStringCompare(string, made, 0) == 0 &&
                CFStringGetCString(string, buffer, sizeof buffer, kCFStringEncodingUTF8) && strcmp(buffer, text) == 0 &&
                strcmp(CFStringGetCStringPtr(string, kCFStringEncodingUTF8), text) == 0 &&
                CFGetTypeID(string) == CFStringGetTypeID();
    CFRelease(made);
    for (int i = 0; i < 3; i++)
        CFRelease(string); /* immortal */
    CFRetain(string);
    return right && CFEqual(string, string) && CFGetRetainCount(string) > 1000000;
}

int main(void)
{
    const void *keys[] = {name, wide}, *values[] = {table[0].mode, elsewhere};
    CFDictionaryRef dictionary =
        CFDictionaryCreate(NULL, keys, values, 2, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, 0, 0, 0, 0, fire, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, table[0].mode);
    int result = (int)CFRunLoopRunInMode(CFSTR("mode one"), 30, 0);
    printf("%d %d %d %d %d %d %d\n", check(name, "a name"), check(wide, "na\xC3\xAFve \xF0\x9F\x98\x80"),
           check(table[1].mode, ""), check(elsewhere, "elsewhere"), fired, result,
           CFDictionaryGetValue(dictionary, CFSTR("a name")) == table[0].mode);
    CFRelease(dictionary);
    CFRelease(timer);
    return 0;
}
"""
ELSEWHERE = '#include <CoreFoundation/CFString.h>\nconst CFStringRef elsewhere = CFSTR("elsewhere");\n'
RIGHT = "1 1 1 1 1 1 1\n"

#: Compiler flags, and whether the archive is linked.
BUILDS = {
    "plain": ([], False), "optimised": (["-O2"], False), "lld": (["-fuse-ld=lld"], False), "bfd": (["-fuse-ld=bfd"], False),
    "gold": (["-fuse-ld=gold"], False), "no PIE": (["-no-pie", "-fno-pic", "-fuse-ld=bfd"], False),
    "archive": ([], True), "static": (["-static"], True), "static PIE": (["-static-pie", "-fuse-ld=bfd"], True),
    "thin LTO": (["-O2", "-flto=thin", "-fuse-ld=lld"], False), "LTO": (["-O2", "-flto", "-fuse-ld=lld"], False),
    "address": (["-fsanitize=address,undefined"], False),
}


@pytest.mark.parametrize("build", BUILDS)
def test_static_initialisers(tmp_path, build):
    flags, takes_archive = BUILDS[build]
    linker = next((flag.partition("=")[2] for flag in flags if flag.startswith("-fuse-ld")), "ld")
    if shutil.which(f"ld.{linker}" if linker != "ld" else "ld") is None and linker != "lld":
        pytest.skip(f"{linker} is not installed")
    (tmp_path / "elsewhere.c").write_text(ELSEWHERE)
    program = compile_program(clang(), tmp_path / "program", tmp_path / "elsewhere.c", flags=["-std=c11", *flags],
                              text=PROGRAM, libraries=[archive()] if takes_archive else ours())
    run(program, expected=RIGHT)


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_static_initialisers_in_cxx(tmp_path, standard):
    source = tmp_path / "program.cc"
    source.write_text(PROGRAM.replace("int main", 'extern "C" const CFStringRef elsewhere = CFSTR("elsewhere");\nint main')
                      .replace("extern const CFStringRef elsewhere;", 'extern "C" const CFStringRef elsewhere;')
                      .replace("{{CFSTR", "{{CFSTR"))
    from library import INCLUDE
    output(clang(cxx=True), *STRICT, f"-std={standard}", f"-I{INCLUDE}", source, "-o", tmp_path / "program", *ours())
    run(tmp_path / "program", expected=RIGHT)


WITHOUT_HEADERS = r"""
#include <stdio.h>
extern long CFStringGetLength(const void *);
extern unsigned char CFEqual(const void *, const void *);
extern const void *CFStringCreateWithCString(void *, const char *, unsigned);
static const void *const name = (const void *)__builtin___CFStringMakeConstantString("a name");
int main(void)
{
    printf("%ld %d\n", CFStringGetLength(name), CFEqual(name, CFStringCreateWithCString(NULL, "a name", 0x0600)));
    return 0;
}
"""


@pytest.mark.parametrize("linker", ["lld", "bfd"])
def test_class_reference_of_the_second_library(tmp_path, linker):
    """For programs without this library's headers. gold does not import absolute symbols from a shared library: it leaves 0 there."""
    program = compile_program(clang(), tmp_path / "program", text=WITHOUT_HEADERS, flags=["-std=c11", f"-fuse-ld={linker}", "-w"],
                              libraries=ours(names=True))
    run(program, expected="6 1\n")


def test_many_threads_look_first_at_once(tmp_path):
    """A UTF-16 constant is converted to UTF-8 in place, once."""
    program = compile_program(clang(), tmp_path / "program", flags=["-std=gnu11", "-O1"], libraries=ours(), text=r"""
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <stdio.h>
#define W(n) CFSTR("\u00e4\u00f6\u00fc " #n)
static CFStringRef const words[] = {W(0), W(1), W(2), W(3), W(4), W(5), W(6), W(7), W(8), W(9)};
static pthread_barrier_t barrier;
static void *look(void *wrong)
{
    for (int i = 0; i < 10; i++) {
        char text[16], expected[16];
        snprintf(expected, sizeof expected, "\xC3\xA4\xC3\xB6\xC3\xBC %d", i);
        pthread_barrier_wait(&barrier);
        if (!CFStringGetCString(words[i], text, sizeof text, kCFStringEncodingUTF8) || strcmp(text, expected) != 0)
            __atomic_add_fetch((int *)wrong, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    int wrong = 0;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, look, &wrong);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d wrong\n", wrong);
    return 0;
}
""")
    for _ in range(20):
        run(program, expected="0 wrong\n")


def test_gcc_says_that_it_cannot(tmp_path):
    """gcc has no constant CFStrings: a literal is a function call, allowed only inside functions, and gcc reports that."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    import subprocess
    from library import INCLUDE
    text = '#include <CoreFoundation/CFString.h>\nconst CFStringRef name = CFSTR("a name");\n'
    result = subprocess.run(["gcc", "-xc", "-fsyntax-only", f"-I{INCLUDE}", "-"], input=text, capture_output=True, text=True)
    assert result.returncode != 0 and "initializer element is not constant" in result.stderr
    assert LIB.exists()
