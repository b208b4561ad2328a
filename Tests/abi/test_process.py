"""The library's effects on a process: none, until it is used. The kernel's record (strace) is what counts: threads,
descriptors and output cannot be hidden from it."""

import os
import re
import shutil
import subprocess

import pytest

from library import BUILD, INCLUDE, output, shared

#: System calls that create a thread, a process or a descriptor, or write to a descriptor.
MAKERS = ("clone,clone3,fork,vfork,epoll_create,epoll_create1,eventfd,eventfd2,timerfd_create,signalfd,signalfd4,pipe,"
          "pipe2,socket,socketpair,memfd_create,inotify_init,inotify_init1,io_uring_setup,dup,dup2,dup3,write,writev")

START = """
#include <RunLoop/RunLoop.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void nothing(RLRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void ran(void *info) { (void)info; }
static int first_pipe_end(void *info) { return *(int *)info; }
static void *handled(void *info) { char byte; return read(*(int *)info, &byte, 1) == 1 ? info : NULL; }
static void use(void)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0.001, 0, 0, nothing, NULL);
    RLRunLoopAddTimer(loop, timer, kRLRunLoopDefaultMode);
    RLRunLoopPostFunction(loop, kRLRunLoopDefaultMode, ran, NULL);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.02, 0);
    RLRunLoopTimerInvalidate(timer);
    RLRelease(timer);
}
static void watch(int fd)
{
    RLRunLoopSourceContext1 context = {.version = 1, .info = &fd, .getPort = first_pipe_end, .perform = handled};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, (RLRunLoopSourceContext *)&context);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1, 1);
    RLRunLoopSourceInvalidate(source);
    RLRelease(source);
}
"""
PROGRAMS = {
    # Keeps the library in the list of needed libraries, and calls nothing.
    "linked": "void *volatile kept; int main(void) { kept = (void *)RLRunLoopRun; (void)use; (void)watch; return 0; }",
    "used": "int main(void) { (void)watch; use(); return 0; }",
    "watching": "int main(void) { use(); watch(open(\"/proc/self/stat\", 0)); return 0; }",
    "watching twice": "int main(void) { int ends[2]; use(); if (pipe(ends) != 0 || write(ends[1], \"12\", 2) != 2) return 1;"
                      " watch(ends[0]); watch(ends[0]); return 0; }",
    # Prints the parts of its memory map that belong to the library, after a loop with a source has run.
    "first loop": """
static void stop(void *info) { (void)info; RLRunLoopStop(RLRunLoopGetCurrent()); }
int main(void)
{
    RLRunLoopSourceContext context = {.perform = stop};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRunLoopRun();
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    int is_ours = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strstr(line, "p 0") != NULL)
            is_ours = strstr(line, "librunloop.so") != NULL;
        if (is_ours)
            fputs(line, stdout);
    }
    (void)use, (void)watch;
    return 0;
}""",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    shared()
    directory = tmp_path_factory.mktemp("process")
    built = {}
    for name, text in PROGRAMS.items():
        source = directory / f"{name.replace(' ', '-')}.c"
        source.write_text(START + text + "\n")
        built[name] = source.with_suffix("")
        output("gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-I{INCLUDE}", source, "-o", built[name],
               f"-L{BUILD / 'lib'}", "-lrunloop", f"-Wl,-rpath,{BUILD / 'lib'}")
    return built


def record(program, tmp_path, calls=MAKERS):
    """Returns the names of those system calls that the program made, in order. The program must print nothing and succeed."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    # The "?" makes strace accept system calls that are unknown on this machine.
    words = ["strace", "-f", "-qq", "-o", trace, "-e", "trace=" + ",".join("?" + call for call in calls.split(","))]
    result = subprocess.run([*words, program], capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, RUNLOOP_MISUSE="abort"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    return re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.MULTILINE)


def test_linking_starts_and_opens_nothing(programs, tmp_path):
    assert record(programs["linked"], tmp_path) == []


def test_linking_runs_hardly_anything(programs, tmp_path):
    """The dynamic linker's usual work for one more library, and nothing else: no constructor makes a system call."""
    calls = "membarrier,futex,prctl,sched_getaffinity,clock_gettime,getpid,gettid,sysinfo,rt_sigaction,mlock,madvise"
    assert record(programs["linked"], tmp_path, calls) == []


def test_a_first_loop_copies_only_pages_of_data(programs):
    """The cost for each process. Code and tables are the file's own pages, so nothing in them is relocated. The two
    data segments have less than a page each, and each may straddle a page boundary."""
    copied = re.findall(r"^Anonymous: +(\d+) kB", output(programs["first loop"]), re.MULTILINE)
    assert len(copied) >= 3 and 0 < sum(map(int, copied)) <= 16, copied


def test_a_first_loop_touches_few_pages(programs, tmp_path):
    """Valgrind counts pages from each access. The kernel's count of resident pages is unsuitable: it maps 64 kB of a
    file at the first access, which soon covers the whole library."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    trace = tmp_path / "trace"
    out = output("valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={trace}", programs["first loop"])
    ends = [int(end, 16) for ends in re.findall(r"^(\w+)-(\w+) .*librunloop", out, re.MULTILINE) for end in ends]
    accesses = re.findall(r"^(?:I | S| L| M) +(\w+),", trace.read_text(), re.MULTILINE)
    pages = {address >> 12 for address in (int(word, 16) for word in accesses) if min(ends) <= address < max(ends)}
    assert 0 < len(pages) <= 44, f"{len(pages)} pages, {len(pages) * 4} kB"


def test_a_loop_without_descriptors_opens_nothing(programs, tmp_path):
    assert record(programs["used"], tmp_path) == []


def test_a_watched_descriptor_costs_two(programs, tmp_path):
    made = record(programs["watching twice"], tmp_path)
    assert [call for call in made if call not in ("pipe", "pipe2", "write")] == ["epoll_create1", "eventfd2"]


def test_a_file_is_watched_without_a_thread(programs, tmp_path):
    made = record(programs["watching"], tmp_path)
    assert set(made) <= {"epoll_create1", "eventfd2"} and len(made) <= 2


def test_what_was_opened_is_closed_on_exec(programs, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    output("strace", "-f", "-qq", "-o", trace, "-e", "trace=epoll_create1,eventfd2", programs["watching twice"])
    lines = trace.read_text().splitlines()
    assert lines and all("CLOEXEC" in line for line in lines)
