/* RLChildCreateBySpawning: pipes, the environment of the program, programs that cannot be started, and no
 * descriptors. */
#include "child.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>

static struct watcher watcher;

/* Called by the kit. */
static int starts;
int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    __typeof__(&posix_spawn) real = (__typeof__(&posix_spawn))dlsym(RTLD_NEXT, "posix_spawn");
    starts++;
    return real(process, path, actions, attributes, arguments, environment);
}

static RLChildRef spawn(const RLChildSpawnOptions *options)
{
    RLChildContext context = {.info = &watcher};
    watcher.object = RLChildCreateBySpawning(NULL, options, child_ended, &context);
    return watcher.object;
}

/* Returns the options for a shell that runs a script. */
static RLChildSpawnOptions shell(const char *script)
{
    static const char *arguments[4] = {"sh", "-c"};
    arguments[2] = script;
    return (RLChildSpawnOptions){.program = "/bin/sh", .arguments = arguments};
}

/* -- Pipes -- */

struct reader {
    RLFileDescriptorRef object;
    char text[4096];
    size_t count;
};

static void read_some(RLFileDescriptorRef f, UNUSED RLOptionFlags types, void *info)
{
    struct reader *reader = info;
    ssize_t count = read(RLFileDescriptorGetNativeDescriptor(f), reader->text + reader->count,
                         sizeof reader->text - 1 - reader->count);
    require(count >= 0);
    reader->count += (size_t)count;
    if (count > 0)
        RLFileDescriptorEnableCallBacks(f, kRLFileDescriptorReadCallBack);
    else
        RLFileDescriptorInvalidate(f);
}

static void read_pipe(struct reader *reader, int descriptor)
{
    RLFileDescriptorContext context = {.info = reader};
    reader->object = RLChildCreatePipe(watcher.object, descriptor, read_some, &context);
    ck_assert_ptr_nonnull(reader->object);
    RLRunLoopSourceRef source = RLFileDescriptorCreateRunLoopSource(NULL, reader->object, 0);
    add(source);
    RLRelease(source);
    RLFileDescriptorEnableCallBacks(reader->object, kRLFileDescriptorReadCallBack);
}

START_TEST(a_program_can_be_spawned_with_pipes)
{
    struct reader output = {0}, error = {0};
    RLChildSpawnOptions options = shell("read line; echo \"got $line\"; echo \"error\" >&2; exit 3");
    options.input = options.output = options.error = kRLChildPipe;
    int before = open_descriptors();
    ck_assert_ptr_nonnull(spawn(&options));
    add(watcher.object);
    read_pipe(&output, 1);
    read_pipe(&error, 2);
    RLFileDescriptorRef input = RLChildCreatePipe(watcher.object, 0, NULL, NULL);
    int fd = RLFileDescriptorGetNativeDescriptor(input);
    ck_assert((fcntl(fd, F_GETFL) & O_NONBLOCK) && fcntl(fd, F_GETFD) == FD_CLOEXEC);
    ck_assert_int_eq(write(fd, "a line\n", 7), 7);
    RLFileDescriptorInvalidate(input);
    run_until_finished();
    ck_assert_str_eq(output.text, "got a line\n");
    ck_assert_str_eq(error.text, "error\n");
    ck_assert(watcher.status.end == kRLChildExited && watcher.status.status == 3);
    errno = 0;
    ck_assert(RLChildCreatePipe(watcher.object, 1, NULL, NULL) == NULL && errno == EBADF); /* it was already returned */
    RLRelease(input);
    RLRelease(output.object);
    RLRelease(error.object);
    RLRelease(watcher.object);
    ck_assert_int_le(open_descriptors(), before + 2); /* those of the loop */
}
END_TEST

START_TEST(unused_pipes_are_closed_with_the_child_object)
{
    RLChildSpawnOptions options = shell("exec cat");
    options.input = options.output = kRLChildPipe;
    int before = open_descriptors();
    ck_assert_ptr_nonnull(spawn(&options));
    pid_t process = RLChildGetProcess(watcher.object);
    RLRelease(watcher.object); /* it was never in a loop */
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(waitpid(process, NULL, 0), process); /* cat has reached the end of its input */
}
END_TEST

START_TEST(standard_error_can_go_to_standard_output)
{
    struct reader output = {0};
    RLChildSpawnOptions options = shell("echo one; echo two >&2; cat");
    options.input = kRLChildNull;
    options.output = kRLChildPipe;
    options.error = kRLChildOutput;
    ck_assert_ptr_nonnull(spawn(&options));
    add(watcher.object);
    read_pipe(&output, 1);
    run_until_finished();
    ck_assert_str_eq(output.text, "one\ntwo\n");
    RLRelease(output.object);
    RLRelease(watcher.object);
}
END_TEST

/* This process closes its standard descriptors, so that all new descriptors get their numbers. */
START_TEST(overlapping_descriptor_numbers_are_passed_correctly)
{
    struct reader reader = {0};
    int to[2], saved[3];
    for (int fd = 0; fd < 3; fd++) {
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
        close(fd);
    }
    require(pipe2(to, O_CLOEXEC) == 0); /* 0 and 1 */
    RLChildSpawnOptions options = shell("echo out; echo err >&2");
    options.output = to[1]; /* 1: the same number as in the child */
    options.error = kRLChildPipe;
    require(spawn(&options) != NULL);
    add(watcher.object);
    read_pipe(&reader, 2);
    require(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 0) == kRLRunLoopRunFinished);
    char text[16] = "";
    ssize_t count = read(to[0], text, sizeof text - 1);
    RLRelease(reader.object);
    RLRelease(watcher.object);
    for (int fd = 0; fd < 3; fd++)
        require(dup2(saved[fd], fd) == fd && close(saved[fd]) == 0);
    ck_assert_int_eq(count, 4);
    ck_assert_str_eq(text, "out\n");
    ck_assert_str_eq(reader.text, "err\n");
}
END_TEST

/* -- The environment of the program -- */

static void expect_output(RLChildSpawnOptions *options, const char *text)
{
    struct reader output = {0};
    options->output = kRLChildPipe;
    ck_assert_ptr_nonnull(spawn(options));
    add(watcher.object);
    read_pipe(&output, 1);
    run_until_finished();
    ck_assert_str_eq(output.text, text);
    RLRelease(output.object);
    RLRelease(watcher.object);
}

START_TEST(a_program_can_be_given_a_directory_and_an_environment)
{
    const char *environment[] = {"WORD=a word", "PATH=/nowhere", NULL},
               *arguments[] = {"other-name", "-c", "echo $0 $WORD; pwd", NULL};
    RLChildSpawnOptions options = {.program = "sh",
                                   .arguments = arguments,
                                   .environment = environment,
                                   .directory = "/dev",
                                   .flags = kRLChildSearchPath};
    expect_output(&options, "other-name a word\n/dev\n");
}
END_TEST

/* Except for the two signals that glibc reserves, which the child inherits unchanged. */
START_TEST(a_spawned_program_blocks_and_ignores_no_signal)
{
    sigset_t all, before;
    RLChildSpawnOptions options =
        shell("while read name value; do case $name in SigBlk:|SigIgn:) echo $((0x$value & ~0x180000000));; esac; "
              "done < /proc/self/status");
    sigfillset(&all);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &all, &before), 0);
    expect_output(&options, "0\n0\n");
    ck_assert_int_eq(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}
END_TEST

START_TEST(a_program_can_start_a_group_and_a_session)
{
    RLChildSpawnOptions options = shell("read line");
    options.input = kRLChildPipe;
    const RLOptionFlags flags[] = {kRLChildNewProcessGroup, kRLChildNewSession,
                                   kRLChildNewProcessGroup | kRLChildNewSession};
    for (int i = 0; i < 3; i++) {
        bool session = i > 0;
        options.flags = flags[i];
        ck_assert_ptr_nonnull(spawn(&options));
        pid_t process = RLChildGetProcess(watcher.object);
        ck_assert_int_eq(getpgid(process), process);
        ck_assert_int_eq(getsid(process) == process, session);
        add(watcher.object);
        ck_assert_int_eq(kill(-process, SIGTERM), 0);
        run_until_finished();
        ck_assert_int_eq(watcher.status.end, kRLChildKilled);
        RLRelease(watcher.object);
    }
}
END_TEST

/* -- Failures -- */

static void expect_failure(RLChildSpawnOptions *options, int error)
{
    int before = open_descriptors();
    options->output = kRLChildPipe;
    errno = 0;
    ck_assert_ptr_null(spawn(options));
    ck_assert_int_eq(errno, error);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

START_TEST(errors_of_starting_a_program_are_returned)
{
    RLChildSpawnOptions options = shell("");
    options.program = "/nowhere/program";
    expect_failure(&options, ENOENT);
    options.program = "/dev/null";
    expect_failure(&options, EACCES);
    options = shell("");
    options.directory = "/nowhere";
    expect_failure(&options, ENOENT);
    options = shell("");
    options.input = 999;
    expect_failure(&options, EBADF);
}
END_TEST

START_TEST(a_status_that_the_kernel_discards_is_reported_as_lost)
{
    RLChildSpawnOptions options = shell("exit 1");
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < SCALED(40); i++) {
        watcher.calls = 0;
        ck_assert_ptr_nonnull(spawn(&options));
        add(watcher.object);
        run_until_finished();
        ck_assert_int_eq(watcher.calls, 1);
        ck_assert_int_eq(watcher.status.end, kRLChildLost);
        ck_assert(!RLChildSendSignal(watcher.object, SIGTERM) && errno == ESRCH);
        RLRelease(watcher.object);
    }
}
END_TEST

START_TEST(nothing_is_started_without_free_descriptors)
{
    struct rlimit usual, low;
    RLChildSpawnOptions options = shell("exit 0");
    int spare = 0, before = open_descriptors();
    options.input = options.output = options.error = kRLChildPipe;
    run_passes(); /* the loop opens its descriptors */
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    for (bool works = false; !works; spare++) {
        int next = dup(0);
        close(next);
        low = (struct rlimit){(rlim_t)(next + spare), usual.rlim_max};
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
        errno = 0;
        works = spawn(&options) != NULL;
        int error = errno;
        ck_assert_int_eq(starts, works);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
        ck_assert(works || error == EMFILE);
        ck_assert(works || (waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD));
        ck_assert(works || open_descriptors() == before);
        ck_assert_int_lt(spare, 20);
    }
    ck_assert_int_gt(spare, 6);
    add(watcher.object);
    run_until_finished();
    RLRelease(watcher.object);
    pid_t process = start_held(0).process;
    int next = dup(0);
    close(next);
    low = (struct rlimit){(rlim_t)next, usual.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    RLChildRef child = RLChildCreate(NULL, process, child_ended, NULL);
    int error = errno;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    ck_assert(child == NULL && error == EMFILE);
    kill(process, SIGKILL);
}
END_TEST

static RLChildSpawnOptions wrong;
static void spawn_wrong(void) { ck_assert_ptr_null(spawn(&wrong)); }
static void spawn_nothing(void) { ck_assert_ptr_null(spawn(NULL)); }
static void take_wrong_pipe(void) { ck_assert_ptr_null(RLChildCreatePipe(watcher.object, 3, NULL, NULL)); }
#define SPAWN "runloop: RLChildCreateBySpawning: options: "

START_TEST(wrong_spawn_options_are_reported)
{
    const RLChildSpawnOptions right = shell("exit 0");
    assert_reports(spawn_nothing, SPAWN "expected options, got NULL");
    wrong = right, wrong.version = 1;
    assert_reports(spawn_wrong, SPAWN "version must be 0");
    wrong = right, wrong.program = NULL;
    assert_reports(spawn_wrong, SPAWN "program is NULL");
    wrong = right, wrong.arguments = NULL;
    assert_reports(spawn_wrong, SPAWN "arguments is NULL");
    wrong = right, wrong.flags = 8;
    assert_reports(spawn_wrong, SPAWN "unknown flag");
    wrong = right, wrong.input = kRLChildOutput;
    assert_reports(spawn_wrong, SPAWN "input is neither a descriptor nor a kRLChild constant");
    wrong = right, wrong.error = -4;
    assert_reports(spawn_wrong, SPAWN "error is neither a descriptor nor a kRLChild constant");
    ck_assert_ptr_nonnull(spawn(&right));
    assert_reports(take_wrong_pipe, "runloop: RLChildCreatePipe: descriptor: must be 0, 1 or 2");
    add(watcher.object);
    run_until_finished();
    RLRelease(watcher.object);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("child spawn");
    TCase *spawned = add_case(suite, "spawn", 30);
    tcase_add_test(spawned, a_program_can_be_spawned_with_pipes);
    tcase_add_test(spawned, unused_pipes_are_closed_with_the_child_object);
    tcase_add_test(spawned, standard_error_can_go_to_standard_output);
    tcase_add_test(spawned, overlapping_descriptor_numbers_are_passed_correctly);
    tcase_add_test(spawned, a_program_can_be_given_a_directory_and_an_environment);
    tcase_add_test(spawned, a_spawned_program_blocks_and_ignores_no_signal);
    tcase_add_test(spawned, a_program_can_start_a_group_and_a_session);
    tcase_add_test(spawned, errors_of_starting_a_program_are_returned);
    tcase_add_test(spawned, a_status_that_the_kernel_discards_is_reported_as_lost);
    tcase_add_test(spawned, nothing_is_started_without_free_descriptors);
    tcase_add_test(spawned, wrong_spawn_options_are_reported);
    return suite;
}
