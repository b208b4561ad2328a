/* Checks the files of ports whose process has ended without invalidating them: later claims of names remove these files, and no
 * others. */
#include "message-port.h"

enum { DEAD = 40, LIVE = 6, STORMS = 150 };

static RLStringRef numbered(const char *kind, int number)
{
    char text[64];
    snprintf(text, sizeof text, "com.example.%s.%d", kind, number);
    return RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
}

static RLDataRef echo(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

static RLMessagePortRef try_port(const char *kind, int number)
{
    RLStringRef name = numbered(kind, number);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, echo, NULL, NULL);
    RLRelease(name);
    return port;
}

static RLMessagePortRef make_port(const char *kind, int number)
{
    RLMessagePortRef port = try_port(kind, number);
    if (port == NULL)
        ck_abort_msg("%s %d: %s", kind, number, strerror(errno));
    return port;
}

static void drop_port(RLMessagePortRef port)
{
    RLMessagePortInvalidate(port);
    RLRelease(port);
}

static void leave_names(void *info)
{
    for (int i = 0; i < DEAD; i++)
        make_port("dead", i);
    if (info)
        raise(SIGKILL);
}

/* Claims names until only this many files are left. */
static void sweep_down_to(int files)
{
    for (int count = 0; name_files() > files; count++) {
        ck_assert_int_lt(count, 2000); /* each claim begins at a random file */
        drop_port(make_port("sweeper", 0));
    }
    ck_assert_int_eq(name_files(), files);
}

START_TEST(files_of_dead_processes_are_removed)
{
    ck_assert_int_eq(run_in_child(leave_names, _i ? &name_directory : NULL), _i ? 128 + SIGKILL : 0);
    ck_assert_int_eq(name_files(), 2 * DEAD);
    sweep_down_to(0);
}
END_TEST

START_TEST(one_claim_checks_a_limited_number_of_files)
{
    run_in_child(leave_names, NULL);
    drop_port(make_port("sweeper", 0));
    ck_assert_int_lt(name_files(), 2 * DEAD);
    ck_assert_int_ge(name_files(), 2 * (DEAD - 16));
}
END_TEST

static void serve_many(int ready)
{
    for (int i = 0; i < LIVE; i++) {
        RLMessagePortRef port = make_port("live", i);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), RLMessagePortCreateRunLoopSource(NULL, port, 0), MODE);
    }
    say_ready(ready);
    RLRunLoopRun();
}

START_TEST(files_of_living_processes_are_kept)
{
    int ready;
    pid_t server = start_server_process(serve_many, &ready);
    run_in_child(leave_names, NULL);
    sweep_down_to(2 * LIVE);
    for (int i = 0; i < LIVE; i++) {
        RLStringRef name = numbered("live", i);
        RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, name);
        ck_assert_ptr_nonnull(remote);
        ck_assert_int_eq(ask(remote, 1, "x", 20, MODE, NULL), kRLMessagePortSuccess);
        ck_assert(try_port("live", i) == NULL && errno == EADDRINUSE);
        RLRelease(remote);
        RLRelease(name);
    }
    close(ready);
    end_process(server, SIGKILL);
    sweep_down_to(0);
}
END_TEST

/* ---- files that are not the library's ---- */

static void make_file(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", name_directory, name);
    FILE *file = fopen(path, "w");
    require(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void in_directory(const char *name, char path[static 512])
{
    snprintf(path, 512, "%s/%s", name_directory, name);
}

START_TEST(files_of_other_programs_are_kept)
{
    char path[512];
    make_file("README", "");
    make_file("app.lock", "");
    make_file("app-0123456789abcdef.lock", "a process id");
    make_file("app-0123456789ABCDEF.lock", "");
    make_file("app-0123456789abcdef.lock.old", "");
    make_file("new-0123456789abcdef.lock", ""); /* may belong to a name that is being claimed */
    make_file("app-0123456789abcdee.lock", "");
    make_file("app-0123456789abcdee.port", "no socket");
    in_directory("dir-0123456789abcdef.lock", path);
    require(mkdir(path, 0700) == 0);
    in_directory("fifo-0123456789abcdef.lock", path);
    require(mkfifo(path, 0600) == 0);
    in_directory("link-0123456789abcdef.lock", path);
    require(symlink("README", path) == 0);
    int files = name_files();
    run_in_child(leave_names, NULL);
    sweep_down_to(files);
    for (int i = 0; i < 50; i++)
        drop_port(make_port("sweeper", 0));
    ck_assert_int_eq(name_files(), files);
    in_directory("dir-0123456789abcdef.lock", path);
    require(rmdir(path) == 0);
}
END_TEST

/* ---- all at the same time ---- */

static void leave_one(UNUSED void *info) { make_port("contended", 0); }

static int still_wanted[2]; /* a pipe, readable once its other end is closed */

static pid_t start_sweeping(void)
{
    char byte;
    pid_t sweeper = fork_child();
    if (sweeper != 0)
        return sweeper;
    close(still_wanted[1]);
    while (read(still_wanted[0], &byte, 1) < 0)
        drop_port(make_port("sweeper", getpid()));
    _exit(0);
}

/* Names are claimed, released and left behind while other processes sweep: each claim succeeds immediately. */
START_TEST(a_name_that_is_being_swept_can_be_claimed)
{
    make_pipe(still_wanted);
    pid_t sweepers[2] = {start_sweeping(), start_sweeping()};
    for (int i = 0; i < SCALED(STORMS); i++) {
        ck_assert_int_eq(run_in_child(leave_one, NULL), 0);
        drop_port(make_port("contended", 0));
        RLMessagePortRef ports[4];
        for (int number = 0; number < 4; number++)
            ports[number] = make_port("fresh", number);
        for (int number = 0; number < 4; number++) {
            RLStringRef name = numbered("fresh", number);
            ck_assert_int_eq(RLMessagePortGetNameOwner(name), getpid());
            RLRelease(name);
            drop_port(ports[number]);
        }
    }
    close_pipe(still_wanted);
    for (int i = 0; i < 2; i++)
        end_process(sweepers[i], 0);
    sweep_down_to(0);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-sweep");
    TCase *tcase = add_case(suite, "sweep", 60);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_loop_test(tcase, files_of_dead_processes_are_removed, 0, 2);
    tcase_add_test(tcase, one_claim_checks_a_limited_number_of_files);
    tcase_add_test(tcase, files_of_living_processes_are_kept);
    tcase_add_test(tcase, files_of_other_programs_are_kept);
    tcase_add_test(tcase, a_name_that_is_being_swept_can_be_claimed);
    return suite;
}
