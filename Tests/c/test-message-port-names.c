/* Checks the names of message ports, and the directory where they are stored as files. */
#include "message-port.h"
#include <dirent.h>

static RLDataRef answer(UNUSED RLMessagePortRef local, UNUSED int32_t id, RLDataRef data, UNUSED void *info)
{
    return RLRetain(data);
}

START_TEST(ports_of_one_name_are_one_object)
{
    struct server server;
    serve(&server, NAME, answer, NULL);
    struct lifetime life = {0};
    RLMessagePortContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    RLBoolean must_free = 0;
    RLMessagePortRef again = RLMessagePortCreateLocal(NULL, NAME, answer, &context, &must_free);
    ck_assert_ptr_eq(again, server.port);
    ck_assert_uint_eq(must_free, 1);
    ck_assert_int_eq(life.retains, 0);
    RLRelease(again);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    RLMessagePortRef same = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_eq(remote, same);
    ck_assert_int_eq(RLMessagePortGetNameOwner(NAME), getpid());
    RLRunLoopSourceRef source = RLMessagePortCreateRunLoopSource(NULL, server.port, 3);
    ck_assert_ptr_eq(source, server.source);
    RLRelease(source);
    ck_assert_ptr_null(RLMessagePortCreateRunLoopSource(NULL, remote, 0));
    RLRelease(same);
    RLRelease(remote);
    RLMessagePortInvalidate(server.port);
    ck_assert_ptr_null(RLMessagePortCreateRunLoopSource(NULL, server.port, 0));
    end_server(&server);
}
END_TEST

START_TEST(connecting_to_an_unserved_name_is_refused)
{
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert_int_eq(RLMessagePortGetNameOwner(NAME), 0);
    ck_assert_int_eq(errno, ECONNREFUSED);
}
END_TEST

START_TEST(names_are_limited_in_length_and_content)
{
    char text[300];
    memset(text, 'n', sizeof text);
    text[256] = 0;
    RLStringRef name = RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL));
    ck_assert_int_eq(errno, ENAMETOOLONG);
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, name));
    ck_assert_int_eq(errno, ENAMETOOLONG);
    RLRelease(name);
    text[255] = 0;
    text[3] = '/';
    name = RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    ck_assert_ptr_nonnull(port);
    ck_assert(RLEqual(RLMessagePortGetName(port), name));
    RLRelease(port);
    RLRelease(name);
    name = RLStringCreateWithBytes(NULL, (const uint8_t *)"a\0b", 3, kRLStringEncodingUTF8, 0);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL));
    assert_misuse("RLMessagePortCreateLocal", "name", "contains a NUL byte");
    RLRelease(name);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, RLSTR(""), answer, NULL, NULL));
    assert_misuse("RLMessagePortCreateLocal", "name", "empty");
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

START_TEST(a_name_can_be_set_later)
{
    struct server server, other;
    serve(&server, NULL, answer, NULL);
    ck_assert_ptr_null(RLMessagePortGetName(server.port));
    ck_assert(RLMessagePortSetName(server.port, NAME));
    ck_assert(RLMessagePortSetName(server.port, NAME));
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_nonnull(remote);
    ck_assert_int_eq(ask(remote, 7, "abc", 5, MODE, NULL), kRLMessagePortSuccess);
    ck_assert(!RLMessagePortSetName(remote, RLSTR("other")));
    serve(&other, RLSTR("other"), answer, NULL);
    ck_assert(!RLMessagePortSetName(server.port, RLSTR("other")));
    ck_assert_int_eq(errno, EADDRINUSE);
    ck_assert(RLMessagePortSetName(server.port, RLSTR("third")));
    ck_assert(RLEqual(RLMessagePortGetName(server.port), RLSTR("third")));
    ck_assert_int_eq(name_files(), 4);
    RLMessagePortRef next = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL); /* the name is free again */
    ck_assert_ptr_nonnull(next);
    ck_assert_ptr_ne(next, server.port);
    RLRelease(next);
    RLRelease(remote);
    end_server(&server);
    end_server(&other);
}
END_TEST

START_TEST(the_port_directory_must_be_private)
{
    char path[128], target[128];
    ck_assert_int_eq(chmod(name_directory, 0770), 0);
    ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
    ck_assert_int_eq(errno, EACCES);
    ck_assert_ptr_null(RLMessagePortCreateRemote(NULL, NAME));
    ck_assert_int_eq(errno, EACCES);
    ck_assert_int_eq(chmod(name_directory, 0700), 0);
    snprintf(target, sizeof target, "%s/real", name_directory);
    snprintf(path, sizeof path, "%s/link", name_directory);
    ck_assert_int_eq(mkdir(target, 0700), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    static const char *const ends[] = {"", "/", "//", "/.", "/./", "/.//."};
    for (size_t index = 0; index < sizeof ends / sizeof *ends; index++) {
        char ended[256];
        snprintf(ended, sizeof ended, "%s%s", path, ends[index]);
        setenv("RUNLOOP_PORT_DIR", ended, 1);
        ck_assert_ptr_null(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL));
        ck_assert_int_eq(errno, EACCES);
        snprintf(ended, sizeof ended, "%s%s", target, ends[index]);
        setenv("RUNLOOP_PORT_DIR", ended, 1);
        RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL);
        ck_assert_ptr_nonnull(port);
        RLRelease(port);
    }
    rmdir(target);
}
END_TEST

static unsigned socket_rights(void)
{
    struct stat status;
    unsigned rights = 0;
    DIR *directory = opendir(name_directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strstr(entry->d_name, ".port") && fstatat(dirfd(directory), entry->d_name, &status, 0) == 0)
            rights = status.st_mode & 0777;
    closedir(directory);
    return rights;
}

/* test-message-port-users.c checks whether other users are really accepted. */
START_TEST(the_socket_file_is_private_unless_other_users_are_allowed)
{
    struct server server;
    umask(0);
    serve(&server, NAME, answer, NULL);
    ck_assert_uint_eq(socket_rights(), 0600);
    ck_assert(!RLMessagePortAllowsOtherUsers(server.port));
    ck_assert(RLMessagePortSetAllowsOtherUsers(server.port, 1));
    ck_assert(RLMessagePortAllowsOtherUsers(server.port));
    ck_assert_uint_eq(socket_rights(), 0666);
    ck_assert(RLMessagePortSetName(server.port, RLSTR("other")));
    umask(077);
    ck_assert(RLMessagePortSetName(server.port, NAME));
    ck_assert_uint_eq(socket_rights(), 0666);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ck_assert_ptr_eq(RLMessagePortCreateRemoteOfUser(NULL, NAME, geteuid()), remote);
    ck_assert_ptr_null(RLMessagePortCreateRemoteOfUser(NULL, NAME, geteuid() + 1));
    ck_assert_int_eq(errno, EACCES);
    ck_assert(!RLMessagePortSetAllowsOtherUsers(remote, 1));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(RLMessagePortSetAllowsOtherUsers(server.port, 0));
    ck_assert_uint_eq(socket_rights(), 0600);
    ck_assert_int_eq(ask(remote, 1, "x", 5, MODE, NULL), kRLMessagePortSuccess);
    RLRelease(remote);
    RLRelease(remote);
    /* If another program has removed the files, no client could connect. */
    ck_assert_int_eq(name_files(), 2);
    remove_own_directory();
    ck_assert_int_eq(mkdir(name_directory, 0700), 0);
    ck_assert(!RLMessagePortSetAllowsOtherUsers(server.port, 1));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!RLMessagePortAllowsOtherUsers(server.port));
    RLMessagePortInvalidate(server.port);
    ck_assert(!RLMessagePortSetAllowsOtherUsers(server.port, 1));
    ck_assert_int_eq(errno, EPIPE);
    end_server(&server);
}
END_TEST

/* Counts the files of a name in a directory that others use as well. */
static int files_of(const char *name, const char *path)
{
    DIR *directory = opendir(path);
    int count = 0;
    require(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strncmp(entry->d_name, name, strlen(name)) == 0;
    closedir(directory);
    return count;
}

static void serve_in(const char *directory)
{
    struct stat status;
    char text[64];
    snprintf(text, sizeof text, "chosen.%d.", getpid());
    RLStringRef name = RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8);
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, name, answer, NULL, NULL);
    ck_assert_ptr_nonnull(port);
    ck_assert_int_eq(files_of(text, directory), 2);
    ck_assert_int_eq(stat(directory, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0700);
    RLRelease(port);
    RLRelease(name);
    ck_assert_int_eq(files_of(text, directory), 0);
}

/* The first variable that is set decides. A missing directory is created. */
START_TEST(environment_variables_choose_the_port_directory)
{
    char own[64], chosen[64], runtime[64];
    strcpy(own, name_directory);
    setenv("XDG_RUNTIME_DIR", own, 1);
    snprintf(chosen, sizeof chosen, "%.40s/chosen", own);
    snprintf(runtime, sizeof runtime, "%.40s/runloop", own);
    umask(0);
    setenv("RUNLOOP_PORT_DIR", chosen, 1);
    serve_in(chosen);
    setenv("RUNLOOP_PORT_DIR", "", 1);
    serve_in(runtime);
    rmdir(chosen);
    rmdir(runtime);
    unsetenv("RUNLOOP_PORT_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    snprintf(chosen, sizeof chosen, "/tmp/runloop-%u", geteuid());
    bool is_there = access(chosen, F_OK) == 0;
    serve_in(chosen);
    if (!is_there)
        rmdir(chosen);
}
END_TEST

static int open_sockets(void)
{
    char path[64], target[64];
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(path, target, sizeof target);
        count += length > 7 && strncmp(target, "socket:", 7) == 0;
    }
    return count;
}

/* Where the kernel does not let a server refuse descriptors, a helper thread closes its sockets. */
static void await_sockets(int wanted)
{
    while (open_sockets() > wanted)
        sched_yield();
}

START_TEST(ports_leave_no_files_and_no_descriptors)
{
    struct server server;
    int sockets = open_sockets();
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    ask(remote, 1, "x", 1, MODE, NULL);
    RLRelease(remote);
    end_server(&server);
    await_sockets(sockets);
    int before = open_descriptors();
    for (int round = 0; round < 200; round++) {
        serve(&server, NAME, answer, NULL);
        remote = RLMessagePortCreateRemote(NULL, NAME);
        ck_assert_int_eq(ask(remote, 1, "x", 1, MODE, NULL), kRLMessagePortSuccess);
        RLRelease(remote);
        end_server(&server);
    }
    await_sockets(sockets);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(name_files(), 0);
}
END_TEST

static void *use_names_when_cancelled(UNUSED void *info)
{
    struct server server;
    pthread_cancel(pthread_self());
    serve(&server, NAME, answer, NULL);
    RLMessagePortRef remote = RLMessagePortCreateRemote(NULL, NAME);
    require(remote != NULL);
    RLRelease(remote);
    end_server(&server);
    pthread_testcancel();
    return NULL;
}

/* A thread that ended while it held the lock of the names would block all others forever. */
START_TEST(a_cancelled_thread_does_not_keep_the_names_locked)
{
    struct server server;
    void *result;
    pthread_t thread = start_thread(use_names_when_cancelled, NULL);
    require(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    serve(&server, NAME, answer, NULL);
    end_server(&server);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-names");
    TCase *tcase = add_case(suite, "names", 20);
    tcase_add_checked_fixture(tcase, use_own_directory, remove_own_directory);
    tcase_add_test(tcase, ports_of_one_name_are_one_object);
    tcase_add_test(tcase, connecting_to_an_unserved_name_is_refused);
    tcase_add_test(tcase, names_are_limited_in_length_and_content);
    tcase_add_test(tcase, a_name_can_be_set_later);
    tcase_add_test(tcase, the_port_directory_must_be_private);
    tcase_add_test(tcase, the_socket_file_is_private_unless_other_users_are_allowed);
    tcase_add_test(tcase, environment_variables_choose_the_port_directory);
    tcase_add_test(tcase, ports_leave_no_files_and_no_descriptors);
    tcase_add_test(tcase, a_cancelled_thread_does_not_keep_the_names_locked);
    return suite;
}
