"""Each of Apple's public headers exists: a program that includes it compiles until it uses something that is missing."""

import subprocess

import pytest

from library import INCLUDE
from public_headers import apple_include
from tools import COMPILERS

#: Apple's internal headers, for other parts of its library; and neighbors of CFNotificationCenter.h that are not installed on a Mac either.
INTERNAL = ("Priv.h", "_Private.h", "Internal.h", "FoundationOnly.h", "Abstract.h")
PRIVATE = {"CFBigNumber.h", "CFBundle_BinaryTypes.h", "CFBurstTrie.h", "CFConstantKeys.h", "CFDateComponents.h", "CFDateInterval.h",
           "CFDateIntervalFormatter.h", "CFKnownLocations.h", "CFListFormatter.h", "CFLocking.h", "CFLogUtilities.h", "CFOverflow.h",
           "CFRegularExpression.h", "CFRelativeDateTimeFormatter.h", "CFRunArray.h", "CFRuntime.h", "CFStorage.h",
           "CFStringDefaultEncoding.h", "CFStringEncodingConverter.h", "CFStringEncodingConverterExt.h",
           "CFStringEncodingDatabase.h", "CFURLComponents.h", "CFUniChar.h", "CFUnicodeDecomposition.h",
           "CFUnicodePrecomposition.h", "CFUtilities.h"}


@pytest.mark.skipif(apple_include() is None, reason="Apple's CoreFoundation headers are not installed")
def test_every_public_header_is_here():
    theirs = {path.name for path in (apple_include() / "CoreFoundation").glob("*.h")}
    ours = {path.name for path in (INCLUDE / "CoreFoundation").glob("*.h")}
    assert PRIVATE <= theirs, "an exception that is not needed any more"
    assert {name for name in theirs - ours - PRIVATE if not name.endswith(INTERNAL)} == set()


TARGETS = """
#include <TargetConditionals.h>
#include <CoreFoundation/CFTargetConditionals.h>
#if TARGET_OS_MAC || TARGET_OS_IPHONE || TARGET_OS_WIN32 || !TARGET_OS_LINUX
#error "another system"
#endif
#if !TARGET_RT_64_BIT || TARGET_RT_BIG_ENDIAN || TARGET_CPU_X86_64 + TARGET_CPU_ARM64 != 1
#error "another processor"
#endif
int main(void) { return 0; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_target_conditionals(compiler):
    result = subprocess.run([COMPILERS[compiler], "-xc", "-fsyntax-only", "-Wall", "-Wextra", "-Wundef", "-Werror", f"-I{INCLUDE}",
                             "-"], input=TARGETS, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


ALLOCATOR = """
#include <CoreFoundation/CFBase.h>
#include <CoreFoundation/CFUnavailable.h>
static void *allocate(CFIndex size, CFOptionFlags hint, void *info) { (void)size, (void)hint; return info; }
CFAllocatorRef make(void);
CFAllocatorRef make(void)
{
    CFAllocatorContext context = {0, NULL, NULL, NULL, NULL, allocate, NULL, NULL, NULL};
    return CFAllocatorCreate(NULL, &context);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_with_an_allocator_hears_why_there_is_none(compiler):
    """Nothing else is reported missing: its context compiles."""
    result = subprocess.run([COMPILERS[compiler], "-xc", "-fsyntax-only", f"-I{INCLUDE}", "-"], input=ALLOCATOR, capture_output=True,
                            text=True)
    assert result.returncode != 0
    assert "malloc is the only allocator" in result.stderr
    assert "unknown type" not in result.stderr and "undeclared" not in result.stderr
