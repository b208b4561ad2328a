"""Every public header compiles alone with every compiler and language, and agrees with Apple's headers."""

import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from public_headers import COREFOUNDATION, INCLUDE, RUNLOOP, apple_include, children, clang, declarations, of_kind

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {"c": ["c99", "c11", "c17", "c2x"], "c++": ["c++11", "c++17", "c++20"]}
UMBRELLAS = ["RunLoop/RunLoop.h", "CoreFoundation/CoreFoundation.h"]


def compilers():
    for language, standards in LANGUAGES.items():
        gcc = shutil.which("gcc" if language == "c" else "g++")
        for standard in standards:
            yield "gcc", gcc, language, standard, []
            yield "clang", clang(language == "c++"), language, standard, []
        yield "clang-blocks", clang(language == "c++"), language, standards[1], ["-fblocks"]


COMPILERS = [pytest.param(*values, id=f"{name}-{values[2]}") for name, *values in compilers()]
#: Old programs are C++98, and CoreFoundation's own headers require no more.
OLD = [pytest.param("g++", "c++", "c++98", [], id="gcc-c++98"), pytest.param(clang(True), "c++", "c++98", [], id="clang-c++98")]


def build(compiler, language, standard, flags, source, *more, include=INCLUDE):
    if compiler is None:
        pytest.skip("the compiler is not installed")
    command = [compiler, "-x", language, f"-std={standard}", *STRICT, *flags, f"-I{include}", *more, "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def check_each_alone(directory, compiler, language, standard, flags, sources):
    """Compiles many small files separately with one command: for one file, clang takes three times as long to start as to compile."""
    if compiler is None:
        pytest.skip("the compiler is not installed")
    files = []
    for name, source in sources.items():
        files.append(directory / f"{name.replace('/', '-')}.c")
        files[-1].write_text(source)
    command = [compiler, "-x", language, f"-std={standard}", *STRICT, *flags, f"-I{INCLUDE}", "-fsyntax-only"]
    if pathlib.Path(compiler).name.startswith("clang"):
        # Clang starts itself again for each file, but the process that it starts can read several files.
        said = subprocess.run([*command, "-###", files[0]], capture_output=True, text=True, check=True).stderr
        command = shlex.split(said.splitlines()[-1])
        command.remove(str(files[0]))
        option = command.index("-main-file-name")
        del command[option:option + 2]
    result = subprocess.run([*command, *files], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("compiler, language, standard, flags", COMPILERS)
def test_headers_compile_alone_and_twice(tmp_path, compiler, language, standard, flags):
    check_each_alone(tmp_path, compiler, language, standard, flags,
                     {header: f"#include <{header}>\n#include <{header}>\nextern int not_empty;\n" for header in RUNLOOP + COREFOUNDATION})


@pytest.mark.parametrize("compiler, language, standard, flags", OLD)
def test_corefoundation_headers_compile_in_old_cxx(tmp_path, compiler, language, standard, flags):
    check_each_alone(tmp_path, compiler, language, standard, flags,
                     {header: f"#include <{header}>\nextern int not_empty;\n" for header in COREFOUNDATION})


#: Files that must be rejected: one that needs another file's declarations, and one with a warning.
FAULTS = {"needs another file": "extern struct of_another known;\nint size = sizeof known;\n", "warning": "void use(void);\nvoid use(void) { int unused; }\n"}


@pytest.mark.parametrize("compiler, language, standard, flags", COMPILERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_one_of_many_is_found(tmp_path, compiler, language, standard, flags, fault):
    good = "struct of_another { int field; };\nextern int not_empty;\n"
    check_each_alone(tmp_path, compiler, language, standard, flags, {"first": good, "last": good})
    with pytest.raises(AssertionError, match="middle"):
        check_each_alone(tmp_path, compiler, language, standard, flags, {"first": good, "middle": FAULTS[fault], "last": good})


#: Constants of each family, and kCFNotFound, have the same width as Apple's, which programs print with %ld.
WIDE = """
#include <CoreFoundation/CoreFoundation.h>
#define SAME_SIZE(constant, type) extern int size[sizeof(constant) == sizeof(type) ? 1 : -1]
SAME_SIZE(kCFNotFound, CFIndex);
#if defined(__cplusplus) || defined(__clang__)
SAME_SIZE(kCFCompareLessThan, CFIndex);
SAME_SIZE(kCFRunLoopEntry, CFOptionFlags);
SAME_SIZE(kCFSocketReadCallBack, CFOptionFlags);
SAME_SIZE(kCFNumberSInt8Type, CFIndex);
SAME_SIZE(kCFDataSearchBackwards, CFOptionFlags);
SAME_SIZE(kCFNotificationDeliverImmediately, CFOptionFlags);
SAME_SIZE(kCFRunLoopRunFinished, SInt32);
#endif
"""


@pytest.mark.parametrize("compiler, language, standard, flags", COMPILERS)
def test_constants_are_as_wide_as_apples(compiler, language, standard, flags):
    build(compiler, language, standard, flags, WIDE, "-fsyntax-only")


def test_apples_constants_are_as_wide_as_that():
    if apple_include() is None:
        pytest.skip("the toolchain has no CoreFoundation")
    build(clang(False), "c", "gnu11", ["-w", "-fblocks"], WIDE, "-fsyntax-only", include=apple_include())


BOTH = """
static void stop(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
    RLRunLoopStop(RLRunLoopGetCurrent());
}

int main(void) {
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(kCFAllocatorDefault, CFAbsoluteTimeGetCurrent(), 0, 0, 0, stop, NULL);
    const void *values[] = {CFSTR("a"), RLSTR("b")};
    CFArrayRef array = CFArrayCreate(NULL, values, 2, &kCFTypeArrayCallBacks);
    RLArrayRef other = RLArrayCreate(NULL, values, 2, &kRLTypeArrayCallBacks);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), (RLRunLoopTimerRef)timer, kRLRunLoopDefaultMode);
    return CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1, TRUE) == (int)kRLRunLoopRunFinished && CFEqual(array, other);
}
"""


@pytest.mark.parametrize("compiler, language, standard, flags", COMPILERS)
def test_both_umbrellas_in_one_file_give_no_cf_symbol(tmp_path, compiler, language, standard, flags):
    for umbrellas in (UMBRELLAS, UMBRELLAS[::-1]):
        source = "".join(f"#include <{header}>\n" for header in umbrellas) + BOTH
        build(compiler, language, standard, flags, source, "-c", "-o", str(tmp_path / "both.o"))
        symbols = subprocess.run(["nm", "-u", tmp_path / "both.o"], capture_output=True, text=True, check=True).stdout
        assert "RLRunLoopRunInMode" in symbols
        assert not re.search(r"\bk?_*CF", symbols)


SYSTEM = """
#include <CoreFoundation/CoreFoundation.h>
static jmp_buf place;
static double use(int fd, const char *text) {
    struct lconv *local = localeconv();
    uintptr_t number = UINTPTR_MAX;
    bool is = isalpha(text[0]) && errno == EINTR && strlen(text) > offsetof(struct tm, tm_min);
    assert(local != NULL && number > 0 && is && setjmp(place) == 0 && raise(SIGUSR1) == 0);
    printf("%" PRId32 "%d%g", INT32_C(1), INT_MAX, DBL_MAX);
    if (fcntl(fd, F_GETFL) == O_RDONLY && read(fd, &fd, sizeof fd) < 0) close(fd);
    return sin(atof(text));
}
int main(int argc, char **argv) { return use(argc, argv[0]) > 0; }
"""


@pytest.mark.parametrize("compiler, language, standard, flags", COMPILERS)
def test_the_umbrella_includes_the_system_headers_that_apples_includes(compiler, language, standard, flags):
    """fcntl.h and unistd.h, too: Apple's includes them through libdispatch's header. GTK, for one, relies on it."""
    build(compiler, language, standard, flags, SYSTEM, "-fsyntax-only")


BLOCKS = """
#include <stdio.h>
static int object, reports;
void RLReportError(const char *function, const char *parameter, const char *problem, RLBoolean isMisuse) {
    (void)function, (void)parameter, (void)problem;
    reports += isMisuse;
}
/* A library in which everything happens at once: enough to see that blocks are copied and released in pairs. */
RLBoolean RLRunLoopPerformFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info,
                                              RLRunLoopFunction release) {
    if (function == NULL || modes == NULL) return 0;
    (void)rl;
    function(info);
    release(info);
    return 1;
}
RLBoolean RLRunLoopPostFunctionWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info,
                                           RLRunLoopFunction release) {
    return RLRunLoopPerformFunctionWithRelease(rl, modes, function, info, release);
}
RLBoolean RLRunLoopPerformFunctionAfterDelayWithRelease(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function,
                                                        void *info, RLTimeInterval delay, RLRunLoopFunction release) {
    (void)delay;
    return RLRunLoopPerformFunctionWithRelease(rl, modes, function, info, release);
}
RLBoolean RLRunLoopPerformFunctionAndWait(RLRunLoopRef rl, RLTypeRef modes, RLRunLoopFunction function, void *info,
                                          RLTimeInterval timeout) {
    (void)rl, (void)modes, (void)timeout;
    if (function != NULL) function(info);
    return function != NULL;
}
RLRunLoopTimerRef RLRunLoopTimerCreate(RLAllocatorRef allocator, RLAbsoluteTime fireDate, RLTimeInterval interval,
                                       RLOptionFlags flags, RLIndex order, RLRunLoopTimerCallBack callout,
                                       RLRunLoopTimerContext *context) {
    (void)allocator, (void)fireDate, (void)interval, (void)flags, (void)order;
    if (callout == NULL) return NULL;
    void *info = (void *)context->retain(context->info);
    callout(NULL, info);
    context->release(info);
    return (RLRunLoopTimerRef)&object;
}
RLRunLoopObserverRef RLRunLoopObserverCreate(RLAllocatorRef allocator, RLOptionFlags activities, RLBoolean repeats,
                                             RLIndex order, RLRunLoopObserverCallBack callout,
                                             RLRunLoopObserverContext *context) {
    (void)allocator, (void)repeats, (void)order;
    if (callout == NULL) return NULL;
    void *info = (void *)context->retain(context->info);
    callout(NULL, activities, info);
    context->release(info);
    return (RLRunLoopObserverRef)&object;
}
int main(void) {
    __block int calls = 0;
    RLTypeRef mode = &object;
    int good = RLRunLoopPerformBlock(NULL, mode, ^{ calls++; }) + RLRunLoopPostBlock(NULL, mode, ^{ calls++; }) +
               RLRunLoopPerformBlockAndWait(NULL, mode, ^{ calls++; }, 1) +
               RLRunLoopPerformBlockAfterDelay(NULL, mode, ^{ calls++; }, 1) +
               (RLRunLoopTimerCreateWithHandler(NULL, 0, 0, 0, 0, ^(RLRunLoopTimerRef t) { (void)t; calls++; }) != NULL) +
               (RLRunLoopObserverCreateWithHandler(NULL, 7, 1, 0, ^(RLRunLoopObserverRef o, RLRunLoopActivity a) {
                    (void)o; calls += (int)a; }) != NULL);
    CFRunLoopPerformBlock(NULL, mode, ^{ calls++; });
    good += CFRunLoopTimerCreateWithHandler(NULL, 0, 0, 0, 0, ^(CFRunLoopTimerRef t) { (void)t; calls++; }) != NULL;
    good += CFRunLoopObserverCreateWithHandler(NULL, 7, 1, 0, ^(CFRunLoopObserverRef o, CFRunLoopActivity a) {
                (void)o; calls += (int)a; }) != NULL;
    int bad = RLRunLoopPerformBlock(NULL, mode, NULL) + RLRunLoopPerformBlock(NULL, NULL, ^{ calls++; }) +
              RLRunLoopPostBlock(NULL, mode, NULL) + RLRunLoopPerformBlockAndWait(NULL, mode, NULL, 1) +
              RLRunLoopPerformBlockAfterDelay(NULL, mode, NULL, 1) + RLRunLoopPerformBlockAfterDelay(NULL, NULL, ^{ calls++; }, 1) +
              (RLRunLoopTimerCreateWithHandler(NULL, 0, 0, 0, 0, NULL) != NULL) +
              (RLRunLoopObserverCreateWithHandler(NULL, 7, 1, 0, NULL) != NULL);
    printf("%d %d %d %d\\n", good, bad, calls, reports);
    return 0;
}
"""


def test_block_forms_copy_and_release_in_pairs(tmp_path):
    """AddressSanitizer detects a leak, a use after free, or a block that is still on the stack."""
    source = "".join(f"#include <{header}>\n" for header in UMBRELLAS) + BLOCKS
    runtime = apple_include()
    if runtime is None or not (runtime / "linux" / "libBlocksRuntime.so").exists():
        pytest.skip("there is no blocks runtime")
    program = tmp_path / "blocks"
    build(clang(), "c", "c11", ["-fblocks", "-g", "-fsanitize=address"], source, "-o", str(program),
          f"-L{runtime / 'linux'}", f"-Wl,-rpath,{runtime / 'linux'}", "-lBlocksRuntime")
    result = subprocess.run([program], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "8 0 21 2\n"), result.stderr


# ---- Comparison with Apple's headers. One file cannot include both, so two programs print their facts, which are compared. ----

apple_only = pytest.mark.skipif(apple_include() is None, reason="Apple's CoreFoundation headers are not installed")
BRIDGE = "CoreFoundation/CoreFoundation.h"

#: Types that Apple's declarations spell differently from this library's; `facts` compares both spellings.
RESPELLED = [("uint8_t", "UInt8"), ("int32_t", "SInt32"), ("RLBoolean", "Boolean")]
#: Functions that differ on purpose, with the type that they have here.
OURS = {"CFStringFind": "CFRange (CFStringRef, CFStringRef, CFOptionFlags)",
        "CFStringCompare": "CFComparisonResult (CFStringRef, CFStringRef, CFOptionFlags)",
        "CFMessagePortSendRequest": "SInt32 (CFMessagePortRef, SInt32, CFDataRef, CFTimeInterval, CFTimeInterval, "
                                    "CFRunLoopMode, CFDataRef *)"}


def in_cf_names(text):
    """The mechanical mapping of names: RLRunLoopRef is CFRunLoopRef, kRLRunLoopDefaultMode is kCFRunLoopDefaultMode."""
    for ours, theirs in RESPELLED:
        text = re.sub(rf"\b{ours}\b", theirs, text)
    return re.sub(r"\b(k?)RL(?=[A-Z])", r"\1CF", text)


def is_declined(node):
    """Returns whether one of Apple's names is declared only so that the compiler can reject it."""
    return bool(children(node, "UnavailableAttr"))


def available(nodes):
    """Returns the nodes without those that are declared only to be rejected."""
    return [node for node in nodes if not is_declined(node)]


def functions(nodes):
    return {node["name"]: node for node in of_kind(nodes, "FunctionDecl") if node.get("storageClass") != "static"}


def enumerators(nodes):
    return [constant["name"] for node in of_kind(nodes, "EnumDecl") for constant in children(node, "EnumConstantDecl")]


def structs(nodes):
    """Returns the field names of each struct, by the name of its typedef."""
    records = {node["id"]: [field["name"] for field in children(node, "FieldDecl")]
               for node in of_kind(nodes, "RecordDecl") if node.get("completeDefinition")}
    found = {}
    for typedef in of_kind(nodes, "TypedefDecl"):
        for record, fields in records.items():
            if f'"{record}"' in str(typedef.get("inner")).replace("'", '"'):
                if "*" not in typedef["type"]["qualType"]:
                    found[typedef["name"]] = fields
    return found


def scalars(nodes):
    """Returns the typedefs that are numbers or pointers."""
    records = structs(nodes)
    return [node["name"] for node in of_kind(nodes, "TypedefDecl") if node["name"] not in records]


def facts(tmp_path, include, header, names, records, numbers):
    """Returns sizes, signs, offsets and values, as a program sees them."""
    lines = [f"#include <{header}>", "#include <stddef.h>", "#include <stdio.h>", "int main(void) {"]
    for name in names:
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
    for record, fields in records.items():
        lines.append(f'printf("{record} %zu\\n", sizeof({record}));')
        for field in fields:
            lines.append(f'printf("{record}.{field} %zu %zu\\n", offsetof({record}, {field}), '
                         f"sizeof((({record} *)0)->{field}));")
    for number in numbers:
        lines.append(f'printf("{number} %lld\\n", (long long){number});')
    program = tmp_path / "facts"
    command = [clang(), "-x", "c", "-std=gnu17", "-w", "-fblocks", "-D_GNU_SOURCE", f"-I{include}", "-o", program, "-"]
    subprocess.run(command, input="\n".join(lines) + "\nreturn 0; }\n", text=True, check=True)
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


@pytest.fixture(scope="module")
def apple():
    return declarations(BRIDGE, apple_include())


@apple_only
@pytest.mark.parametrize("header", UMBRELLAS)
def test_sizes_offsets_and_constants_are_apples(tmp_path, apple, header):
    ours = available(declarations(header))
    known = {node.get("name") for node in of_kind(apple, "TypedefDecl")}
    known |= set(enumerators(apple))
    names = [name for name in scalars(ours) if in_cf_names(name) in known]
    records = {name: fields for name, fields in structs(ours).items() if in_cf_names(name) in known}
    numbers = [name for name in enumerators(ours) if in_cf_names(name) in known]
    assert len(names) >= 20 and len(records) >= 6 and len(numbers) >= 16, (names, records, numbers)
    mine = facts(tmp_path, INCLUDE, header, names, records, numbers)
    theirs = facts(tmp_path, apple_include(), BRIDGE, [in_cf_names(name) for name in names],
                   {in_cf_names(name): fields for name, fields in records.items()},
                   [in_cf_names(name) for name in numbers])
    assert {in_cf_names(name): fact for name, fact in mine.items()} == theirs


@apple_only
@pytest.mark.parametrize("header", UMBRELLAS)
def test_functions_have_apples_parameters_in_apples_order(apple, header):
    theirs = functions(apple)
    compared = 0
    for name, node in functions(available(declarations(header))).items():
        cf_name = in_cf_names(name)
        if cf_name not in theirs:
            continue
        expected = theirs[cf_name]["type"]["qualType"].replace("__attribute__((noescape)) ", "")
        if header.startswith("RunLoop/"):
            expected = OURS.get(cf_name, expected)
        assert in_cf_names(node["type"]["qualType"]) == expected, name
        compared += 1
    assert compared >= 70


def test_every_cf_name_is_a_label_on_the_rl_name():
    here = {node["name"] for node in of_kind(declarations("RunLoop/RunLoop.h"), "FunctionDecl", "VarDecl")}
    special = {"__CFStringMakeConstantString": "RLStringMakeConstant", "kCFAllocatorSystemDefault": "kRLAllocatorDefault",
               "kCFAllocatorMalloc": "kRLAllocatorDefault",
               "CFRunLoopRun": "RLRunLoopRunAsCF", "CFRunLoopRunInMode": "RLRunLoopRunInModeAsCF",
               "__CFRunLoopPerformFunctionWithRelease": "RLRunLoopPerformFunctionWithRelease"}
    for node in of_kind(available(declarations(BRIDGE)), "FunctionDecl", "VarDecl"):
        name = node["name"]
        if name == "__CFRunLoopServesDispatchMainQueue":  # defined by the program, not by the library
            assert node["mangledName"] == "kRLProgramServesDispatchMainQueue"
            continue
        if node.get("storageClass") == "static" or name.startswith("_Block_"):
            continue
        expected = special.get(name, re.sub(r"^(k?)CF", r"\1RL", name))
        assert node["mangledName"] == expected
        assert expected in here, f"{name} has no {expected} in RunLoop/"


@apple_only
@pytest.mark.parametrize("header", ["CFRunLoop", "CFSocket", "CFMessagePort"])
def test_all_of_apples_header_is_there(header):
    """Every public declaration of Apple's header exists, and has a counterpart in RunLoop/, except for declined names."""
    path = f"CoreFoundation/{header}.h"
    theirs = {node["name"] for node in declarations(path, apple_include())
              if node.get("name", "").startswith((header, f"k{header}"))}
    ours = [node for node in declarations(path) if node.get("name")]
    assert theirs - {node["name"] for node in ours} == set()
    declined = {node["name"] for node in ours if is_declined(node)}
    names = {in_cf_names(node["name"]) for node in declarations("RunLoop/RunLoop.h") if node.get("name")}
    assert {name for name in theirs - declined if not name.startswith("__")} - names == set()


#: Apple's names that the headers decline, each in an expression that uses it.
DECLINED = {
    "CFMessagePortSetDispatchQueue": "CFMessagePortSetDispatchQueue(0, 0)",
    "CFSocketCopyRegisteredSocketSignature": "CFSocketCopyRegisteredSocketSignature(0, 0, 0, 0, 0)",
    "CFSocketCopyRegisteredValue": "CFSocketCopyRegisteredValue(0, 0, 0, 0, 0)",
    "CFSocketGetDefaultNameRegistryPortNumber": "CFSocketGetDefaultNameRegistryPortNumber()",
    "CFSocketRegisterSocketSignature": "CFSocketRegisterSocketSignature(0, 0, 0, 0)",
    "CFSocketRegisterValue": "CFSocketRegisterValue(0, 0, 0, 0)",
    "CFSocketSetDefaultNameRegistryPortNumber": "CFSocketSetDefaultNameRegistryPortNumber(2454)",
    "CFSocketUnregister": "CFSocketUnregister(0, 0, 0)",
    "kCFSocketCommandKey": "kCFSocketCommandKey",
    "kCFSocketErrorKey": "kCFSocketErrorKey",
    "kCFSocketNameKey": "kCFSocketNameKey",
    "kCFSocketRegisterCommand": "kCFSocketRegisterCommand",
    "kCFSocketResultKey": "kCFSocketResultKey",
    "kCFSocketRetrieveCommand": "kCFSocketRetrieveCommand",
    "kCFSocketValueKey": "kCFSocketValueKey",
}


def test_declined_names_are_listed():
    """For the classes that exist here; for all others, see Tests/porting/test_unavailable.py."""
    assert {node["name"] for node in declarations(BRIDGE) if is_declined(node)
            and node["path"] in ("CoreFoundation/CFSocket.h", "CoreFoundation/CFMessagePort.h")} == set(DECLINED)


@pytest.mark.parametrize("compiler", [shutil.which("gcc"), clang()], ids=["gcc", "clang"])
@pytest.mark.parametrize("name", DECLINED)
def test_use_of_a_declined_name_is_an_error_that_says_why(compiler, name):
    source = f"#include <{BRIDGE}>\nvoid use(void) {{ (void){DECLINED[name]}; }}\n"
    result = subprocess.run([compiler, "-x", "c", "-std=c11", f"-I{INCLUDE}", "-fsyntax-only", "-"], input=source,
                            capture_output=True, text=True)
    assert result.returncode != 0
    assert re.search(rf"{name}\W+ is unavailable: .*(name registry|dispatch queues)", result.stderr), result.stderr


#: What else Apple's headers of these classes contain, and why it is missing here.
LEFT_OUT = {
    "CFDate.h": {"CFTimeZoneRef", "CFGregorianDate", "CFGregorianUnits", "CFGregorianUnitFlags"},  # calendars
    "CFNotificationCenter.h": {"CFNotificationCenterGetDarwinNotifyCenter"},  # there is no such facility on Linux
}


@apple_only
@pytest.mark.parametrize("header", ["CFArray.h", "CFData.h", "CFSet.h", "CFDictionary.h", "CFNumber.h", "CFDate.h",
                                    "CFNotificationCenter.h"])
def test_all_of_the_class_is_there(header):
    def declared(include):
        return {node["name"] for node in available(declarations(f"CoreFoundation/{header}", include)) if node.get("name")
                and node.get("path", "").endswith(header) and not node["name"].startswith("_")}

    missing = declared(apple_include()) - declared(INCLUDE)
    assert {name for name in missing if "Gregorian" not in name and name != "CFAbsoluteTimeGetDayOfWeek"
            and not name.startswith("CFAbsoluteTimeGet")} - LEFT_OUT.get(header, set()) == set()
