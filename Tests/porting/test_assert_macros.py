"""AssertMacros.h: what each macro reports, evaluates and does, in every language and in production code."""

import re
import subprocess

import pytest

from library import INCLUDE, output
from public_headers import clang
from tools import COMPILERS, STRICT, ours

pytestmark = pytest.mark.timeout(60)

LANGUAGES = {"c99": ("gcc", "c", "c99"), "c11": ("clang", "c", "c11"), "c++": ("g++", "c++", "c++17"),
             "clang++": ("clang++", "c++", "c++20")}

#: Each form prints how often its condition was evaluated, whether its action ran, and whether control went to the label.
FORMS = {
    "check(one())": "1 0 0", "check(zero())": "1 0 0 told", "ncheck(one())": "1 0 0 told",
    "check_string(zero(), \"why\")": "1 0 0 told why", "check_noerr(one())": "1 0 0 told", "check_noerr(zero())": "1 0 0",
    "__Check(zero())": "1 0 0 told", "__Check_noErr_String(one(), \"why\")": "1 0 0 told why",
    "verify(zero())": "1 0 0 told", "verify(one())": "1 0 0", "nverify(one())": "1 0 0 told",
    "verify_action(zero(), action = 1)": "1 1 0 told", "verify_noerr(one())": "1 0 0 told",
    "require(zero(), end)": "1 0 1 told", "require(one(), end)": "1 0 0", "nrequire(one(), end)": "1 0 1 told",
    "require_string(zero(), end, \"why\")": "1 0 1 told why", "require_action(zero(), end, action = 1)": "1 1 1 told",
    "require_action_string(zero(), end, action = 1, \"why\")": "1 1 1 told why",
    "require_quiet(zero(), end)": "1 0 1", "require_action_quiet(zero(), end, action = 1)": "1 1 1",
    "nrequire_action_quiet(one(), end, action = 1)": "1 1 1", "require_action_quiet(one(), end, action = 1)": "1 0 0",
    "require_noerr(one(), end)": "1 0 1 told", "require_noerr(zero(), end)": "1 0 0",
    "require_noerr_action(one(), end, action = 1)": "1 1 1 told", "require_noerr_string(one(), end, \"why\")": "1 0 1 told why",
    "require_noerr_quiet(one(), end)": "1 0 1", "require_noerr_action_quiet(one(), end, action = 1)": "1 1 1",
    "__Require_noErr_Action_String(one(), end, action = 1, \"why\")": "1 1 1 told why",
}


def program(forms):
    text = "#include <AssertMacros.h>\n#include <CoreFoundation/CoreFoundation.h>\ncheck_compile_time(sizeof(int) == 4);\n"
    text += "static int evaluated, action;\nstatic int one(void) { evaluated++; return 1; }\n"
    text += "static int zero(void) { evaluated++; return 0; }\n"
    for number, form in enumerate(forms):
        text += f"static void form{number}(void)\n{{\n    int went = 1;\n    evaluated = action = 0;\n    {form};\n    went = 0;\n"
        text += "    goto end;\nend:\n    printf(\"%d %d %d\\n\", evaluated, action, went);\n    fflush(stdout);\n}\n"
    return text + "int main(void)\n{\n" + "".join(f"    form{number}();\n" for number in range(len(forms))) + "    return 0;\n}\n"


def compiled(tmp_path, text, *flags, language="c11"):
    name, kind, standard = LANGUAGES[language]
    compiler = {"g++": "g++", "clang++": clang(cxx=True)}.get(name) or COMPILERS[name]
    (tmp_path / "program.c").write_text(text)
    output(compiler, "-x", kind, f"-std={standard}", *STRICT, f"-I{INCLUDE}", tmp_path / "program.c",
           "-o", tmp_path / "program", *flags)
    done = subprocess.run([tmp_path / "program"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_form(tmp_path, language):
    lines = compiled(tmp_path, program(FORMS), language=language)
    for form, wanted in FORMS.items():
        told = ""
        if not re.match(r"\d \d \d$", lines[0]):
            message = re.match(r"program: \S*program\.c:\d+: does not hold: (.*?)(: why)?$", lines.pop(0))
            assert message and ("zero()" in message[1] or "one()" in message[1]), form
            assert ("going to end" in message[1]) == ("equire" in form), form
            told = " told" + (" why" if message[2] else "")
        assert lines.pop(0) + told == wanted, form
    assert lines == []


def test_production_code_tells_nothing_and_does_not_evaluate_checks(tmp_path):
    lines = compiled(tmp_path, program(FORMS).replace("static int zero", "extern int zero(void), one(void);\nint zero")
                     .replace("static int one", "int one(void);\nint one"), "-DDEBUG_ASSERT_PRODUCTION_CODE=1")
    wanted = [re.sub(r" told.*", "", text) for text in FORMS.values()]
    wanted = ["0" + text[1:] if re.match(r"_*n?[Cc]heck", form) else text for form, text in zip(FORMS, wanted)]
    assert lines == wanted


def test_names_without_underscores_can_be_left_out(tmp_path):
    text = "#include <AssertMacros.h>\nint check(int), require(int);\nint check(int a) { return a; }\nint require(int a) { return a; }\n"
    text += "int main(void) { __Require(check(require(1)), end);\nend: return 0; }\n"
    assert compiled(tmp_path, text, "-D__ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES=0") == []


def test_compile_time(tmp_path):
    with pytest.raises(AssertionError):
        compiled(tmp_path, "#include <AssertMacros.h>\nrequire_compile_time(sizeof(int) == 3);\nint main(void) { return 0; }\n")


#: CFAllocator's three functions, which programs use instead of malloc's.
ALLOCATOR = r"""
#include <CoreFoundation/CFBase.h>
int main(void)
{
    char *bytes = (char *)CFAllocatorAllocate(kCFAllocatorDefault, 1, 0);
    if (bytes == NULL)
        return 1;
    bytes[0] = 'x';
    bytes = (char *)CFAllocatorReallocate(NULL, bytes, 100000, 0);
    if (bytes == NULL || bytes[0] != 'x')
        return 2;
    CFAllocatorDeallocate(kCFAllocatorNull, bytes);
    bytes[99999] = 'y';
    if (CFAllocatorReallocate(kCFAllocatorMalloc, bytes, 0, 0) != NULL)
        return 3;
    CFAllocatorDeallocate(kCFAllocatorSystemDefault, CFAllocatorReallocate(NULL, NULL, 5, 0));
    CFAllocatorDeallocate(NULL, NULL);
    if (CFAllocatorAllocate(NULL, 0, 0) != NULL || CFAllocatorReallocate(NULL, NULL, 0, 0) != NULL)
        return 4;
    return CFAllocatorAllocate(kCFAllocatorNull, 1, 0) == NULL ? 0 : 5;
}
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_allocator(tmp_path, language):
    assert compiled(tmp_path, ALLOCATOR, *ours(), language=language) == []


#: Types that CoreFoundation lacks on Linux. The others are in Tests/conformance/value-type-descriptions.c.
NAMES_OF_KINDS = r"""
#include <CoreFoundation/CoreFoundation.h>
#include <RunLoop/RunLoop.h>
static int is(CFTypeID kind, CFStringRef name) { return CFEqual(CFCopyTypeIDDescription(kind), name); }
int main(void)
{
    return !(is(CFFileDescriptorGetTypeID(), CFSTR("CFFileDescriptor")) && is(CFMessagePortGetTypeID(), CFSTR("CFMessagePort")) &&
             is(CFNotificationCenterGetTypeID(), CFSTR("CFNotificationCenter")) && is(RLPortGetTypeID(), CFSTR("RLPort")) &&
             is(RLPortMessageGetTypeID(), CFSTR("RLPortMessage")) &&
             is(RLMessagePortRequestGetTypeID(), CFSTR("RLMessagePortRequest")) && is(0x1F, CFSTR("Not A Type")) &&
             is((CFTypeID)-1, CFSTR("Not A Type")));
}
"""


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_of_kinds(tmp_path, language):
    assert compiled(tmp_path, NAMES_OF_KINDS, *ours(), language=language) == []
