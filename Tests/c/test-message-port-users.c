/* Checks two users of one machine: they have no contact unless the server allows it and the client says which user it trusts.
 * Needs root. */
#include "message-port.h"
#include <grp.h>

enum { ROOT = 0, ANN = 12345, BOB = 12346 };

/* ---- processes of users ---- */

static void become(uid_t user)
{
    child_assert(setgroups(0, NULL) == 0);
    child_assert(setresgid(user, user, user) == 0);
    child_assert(setresuid(user, user, user) == 0);
}

/* Runs `body` in a process of this user. */
static void as_user(uid_t user, void (*body)(void))
{
    pid_t child = fork_child();
    if (child == 0) {
        become(user);
        body();
        _exit(0);
    }
    end_process(child, 0);
}

static RLDataRef answer(RLMessagePortRef local, int32_t id, RLDataRef data, UNUSED void *info)
{
    unsigned uid, gid;
    char text[32];
    if (id == 1)
        return RLRetain(data);
    require(RLMessagePortGetPeerCredentials(local, NULL, &uid, &gid));
    snprintf(text, sizeof text, "%u %u", uid, gid);
    return text_data(text);
}

/* A server that obeys this test: A allows other users, F forbids them, Q quits. */
struct server_process {
    pid_t child;
    int control;
};
static struct server server;
static int commands;

static int commands_port(UNUSED void *info) { return commands; }

static void execute_command(UNUSED void *info)
{
    char command;
    if (read(commands, &command, 1) != 1 || command == 'Q') {
        end_server(&server);
        _exit(0);
    }
    child_assert(RLMessagePortSetAllowsOtherUsers(server.port, command == 'A'));
    child_assert(RLMessagePortAllowsOtherUsers(server.port) == (command == 'A'));
    child_assert(write(commands, &command, 1) == 1);
}

static struct server_process start_server(uid_t user)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork_child();
    if (child == 0) {
        close(ends[0]);
        become(user);
        serve(&server, NAME, answer, NULL);
        commands = ends[1];
        RLRunLoopSourceRef source = make_port_source(0, commands_port, execute_command, NULL);
        RLRunLoopAddSource(RLRunLoopGetCurrent(), source, MODE);
        say_ready(commands);
        RLRunLoopRun();
        _exit(1);
    }
    close(ends[1]);
    char byte;
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    return (struct server_process){child, ends[0]};
}

static void send_command(struct server_process process, char what)
{
    char byte;
    ck_assert_int_eq(write(process.control, &what, 1), 1);
    ck_assert_int_eq(read(process.control, &byte, 1), 1);
}

static void stop_server(struct server_process process)
{
    ck_assert_int_eq(write(process.control, "Q", 1), 1);
    end_process(process.child, 0);
    close(process.control);
    ck_assert_int_eq(name_files(), 0);
}

/* ---- what the processes do ---- */

static void begin(void)
{
    use_own_directory();
    ck_assert_int_eq(chmod(name_directory, 01777), 0);
}

static void connect_as(unsigned server_user, int error)
{
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, NAME, server_user);
    child_assert(port == NULL && errno == error);
}

static void ask_as(unsigned server_user)
{
    char expected[32];
    RLDataRef reply = NULL;
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, NAME, server_user);
    child_assert(port != NULL);
    snprintf(expected, sizeof expected, "%u %u", geteuid(), getegid());
    child_assert(ask(port, 2, NULL, 20, MODE, &reply) == kRLMessagePortSuccess);
    child_assert(is_text(reply, expected));
    RLRelease(reply);
    RLRelease(port);
}

static void cannot_serve(void)
{
    child_assert(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL) == NULL && errno == EACCES);
}

static void can_serve(void)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL);
    child_assert(port != NULL);
    RLRelease(port);
}

static void ann_is_served(void)
{
    RLMessagePortRef port = RLMessagePortCreateRemote(NULL, NAME);
    child_assert(port != NULL && RLMessagePortCreateRemoteOfUser(NULL, NAME, ANN) == port);
    RLRelease(port);
    RLRelease(port);
    ask_as(ANN);
}

static void is_refused(void)
{
    child_assert(RLMessagePortCreateRemote(NULL, NAME) == NULL && errno == EACCES);
    child_assert(RLMessagePortGetNameOwner(NAME) == 0 && errno == EACCES);
    connect_as(ANN, EACCES);
    connect_as(BOB, EACCES);
}

/* The mode of the file does not stop root, but the server does. */
static void root_is_disconnected(void)
{
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, NAME, ANN);
    if (port == NULL) { /* if the server disconnected it early */
        child_assert(errno == ECONNREFUSED);
        return;
    }
    int32_t result = ask(port, 1, "x", 20, MODE, NULL);
    child_assert(result == kRLMessagePortIsInvalid || result == kRLMessagePortBecameInvalidError);
    RLRelease(port);
}

START_TEST(other_users_are_refused_unless_allowed)
{
    struct server_process process = start_server(ANN);
    as_user(ANN, ann_is_served);
    as_user(BOB, is_refused);
    as_user(ROOT, root_is_disconnected);
    send_command(process, 'A');
    send_command(process, 'F');
    as_user(ANN, ann_is_served);
    as_user(BOB, is_refused);
    as_user(ROOT, root_is_disconnected);
    stop_server(process);
}
END_TEST

static void large_data(RLMessagePortRef port)
{
    enum { SIZE = 1 << 20 };
    uint8_t *bytes = calloc(1, SIZE);
    RLDataRef data = RLDataCreate(NULL, bytes, SIZE), reply = NULL;
    for (int round = 0; round < 4; round++) {
        child_assert(RLMessagePortSendRequest(port, 1, data, 10, 20, MODE, &reply) == kRLMessagePortSuccess);
        child_assert(RLEqual(reply, data));
        RLRelease(reply);
    }
    RLRelease(data);
    free(bytes);
}

static void bob_is_served(void)
{
    child_assert(RLMessagePortCreateRemote(NULL, NAME) == NULL && errno == EACCES);
    connect_as(BOB, EACCES);
    connect_as(ROOT, EACCES);
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, NAME, ANN);
    child_assert(port != NULL && RLMessagePortCreateRemoteOfUser(NULL, NAME, ANN) == port);
    connect_as(BOB, EACCES); /* a port that trusts ANN must not be returned to a client that trusts BOB */
    child_assert(RLMessagePortGetNameOwner(NAME) > 1);
    large_data(port);
    RLRelease(port);
    RLRelease(port);
    ask_as(ANN);
    cannot_serve();
}

static void ask_ann(void) { ask_as(ANN); }

START_TEST(other_users_are_served_if_allowed)
{
    struct server_process process = start_server(ANN);
    send_command(process, 'A');
    as_user(ANN, ann_is_served);
    as_user(BOB, bob_is_served);
    as_user(ROOT, ask_ann);
    stop_server(process);
}
END_TEST

static void stop_run(UNUSED RLMessagePortRef port, UNUSED void *info) { RLRunLoopStop(RLRunLoopGetCurrent()); }

/* Stays until it is disconnected. */
static void guest_process(int ready)
{
    become(BOB);
    RLMessagePortRef port = RLMessagePortCreateRemoteOfUser(NULL, NAME, ANN);
    child_assert(port != NULL && ask(port, 1, "x", 20, MODE, NULL) == kRLMessagePortSuccess);
    RLRunLoopTimerRef timer = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, NULL);
    RLRunLoopAddTimer(RLRunLoopGetCurrent(), timer, MODE); /* keeps the mode from being empty */
    RLMessagePortSetInvalidationCallBack(port, stop_run);
    say_ready(ready);
    RLRunLoopRunInMode(MODE, 1000, false);
    child_assert(!RLMessagePortIsValid(port));
    connect_as(ANN, EACCES);
    RLRelease(port);
}

START_TEST(other_users_are_disconnected_when_they_are_forbidden)
{
    int ready;
    struct server_process process = start_server(ANN);
    send_command(process, 'A');
    pid_t guest = start_server_process(guest_process, &ready);
    send_command(process, 'F');
    end_process(guest, 0);
    close(ready);
    as_user(ANN, ann_is_served);
    stop_server(process);
}
END_TEST

/* Another user serves the name, and allows this one, but is not the user that the client trusts. */
static void ann_does_not_trust_bob(void)
{
    child_assert(RLMessagePortCreateRemote(NULL, NAME) == NULL && errno == EACCES);
    connect_as(ANN, EACCES);
    child_assert(RLMessagePortGetNameOwner(NAME) > 1);
}

/* In a sticky directory, a name that a crash left behind belongs to the user that had it. */
START_TEST(a_name_stays_with_its_user_after_a_crash)
{
    struct server_process process = start_server(BOB);
    send_command(process, 'A');
    as_user(ANN, ann_does_not_trust_bob);
    as_user(ANN, cannot_serve);
    end_process(process.child, SIGKILL);
    close(process.control);
    as_user(ANN, cannot_serve);
    as_user(ROOT, cannot_serve);
    as_user(BOB, can_serve);
    ck_assert_int_eq(name_files(), 0);
    as_user(ANN, can_serve);
}
END_TEST

/* ---- what other users put into a sticky directory ---- */

static char own_name[300], other_name[300]; /* NAME's files, without the suffix; those of another name */

static void look_up_names(void)
{
    RLMessagePortRef ports[2] = {RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL),
                                 RLMessagePortCreateLocal(NULL, RLSTR("other"), answer, NULL, NULL)};
    DIR *directory = opendir(name_directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strstr(entry->d_name, ".port") == NULL)
            continue;
        char *name = strncmp(entry->d_name, "other", 5) == 0 ? other_name : own_name;
        snprintf(name, 300, "%s/%.*s", name_directory, (int)strcspn(entry->d_name, "-") + 17, entry->d_name);
    }
    closedir(directory);
    RLRelease(ports[0]);
    RLRelease(ports[1]);
}

static const char *squatted; /* the suffix of the file that BOB puts there */
static bool is_link;

static void squat(void)
{
    char path[320], target[320];
    snprintf(path, sizeof path, "%s%s", own_name, squatted);
    snprintf(target, sizeof target, "%s.port", other_name);
    umask(0);
    child_assert(is_link ? symlink(target, path) == 0 : close(open(path, O_CREAT | O_EXCL, 0666)) == 0);
}

static void is_kept_out(void)
{
    child_assert(RLMessagePortCreateLocal(NULL, NAME, answer, NULL, NULL) == NULL);
    child_assert(errno == EACCES || errno == EADDRINUSE);
    child_assert(RLMessagePortCreateRemote(NULL, NAME) == NULL);
    child_assert(errno == (strcmp(squatted, ".port") == 0 ? EACCES : ECONNREFUSED));
}

/* ANN serves a name to which a link of BOB's points: the link is not followed. */
static void is_kept_out_while_serving(void)
{
    RLMessagePortRef port = RLMessagePortCreateLocal(NULL, RLSTR("other"), answer, NULL, NULL);
    child_assert(port != NULL);
    is_kept_out();
    child_assert(RLMessagePortGetNameOwner(NAME) == 0 && errno == (strcmp(squatted, ".port") ? ECONNREFUSED : EACCES));
    RLRelease(port);
}

START_TEST(files_of_other_users_are_not_used)
{
    static const char *const suffixes[] = {".lock", ".new", ".port"};
    look_up_names();
    ck_assert(own_name[0] && other_name[0]);
    for (int index = 0; index < 6; index++) {
        char path[320];
        squatted = suffixes[index / 2];
        is_link = index % 2;
        as_user(BOB, squat);
        as_user(ANN, is_kept_out_while_serving);
        snprintf(path, sizeof path, "%s%s", own_name, squatted);
        ck_assert_int_eq(unlink(path), 0); /* the link is still there */
        ck_assert_int_eq(name_files(), 0);
    }
}
END_TEST

/* ---- directories ---- */

static void make_directory_of(uid_t owner, mode_t mode)
{
    ck_assert_int_eq(chown(name_directory, owner, owner), 0);
    ck_assert_int_eq(chmod(name_directory, mode), 0);
}

static void trusts_root(void) { connect_as(ROOT, EACCES); }
static void trusts_ann(void) { connect_as(ANN, EACCES); }
static void ask_root(void) { ask_as(ROOT); }

START_TEST(other_users_can_connect_but_not_serve_in_a_service_directory)
{
    static const uid_t owners[] = {ANN, ROOT};
    for (int index = 0; index < 2; index++) {
        make_directory_of(owners[index], 0755);
        struct server_process process = start_server(owners[index]);
        send_command(process, 'A');
        as_user(BOB, owners[index] == ANN ? ask_ann : ask_root);
        as_user(BOB, owners[index] == ANN ? trusts_root : trusts_ann);
        as_user(BOB, cannot_serve);
        stop_server(process);
    }
}
END_TEST

START_TEST(an_unsafe_port_directory_is_refused)
{
    make_directory_of(ROOT, 0777); /* every user can replace every file */
    as_user(ANN, cannot_serve);
    as_user(ANN, is_refused);
    make_directory_of(ROOT, 0775);
    as_user(ROOT, cannot_serve);
    make_directory_of(BOB, 01777); /* the owner can replace them */
    as_user(ANN, cannot_serve);
    as_user(BOB, can_serve);
    make_directory_of(BOB, 0700);
    as_user(ROOT, cannot_serve);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("message-port-users");
    TCase *tcase = add_case(suite, "users", 30);
    if (geteuid() != 0) {
        printf("message-port-users: left out, because only root can become other users\n");
        return suite;
    }
    tcase_add_checked_fixture(tcase, begin, remove_own_directory);
    tcase_add_test(tcase, other_users_are_refused_unless_allowed);
    tcase_add_test(tcase, other_users_are_served_if_allowed);
    tcase_add_test(tcase, other_users_are_disconnected_when_they_are_forbidden);
    tcase_add_test(tcase, a_name_stays_with_its_user_after_a_crash);
    tcase_add_test(tcase, files_of_other_users_are_not_used);
    tcase_add_test(tcase, other_users_can_connect_but_not_serve_in_a_service_directory);
    tcase_add_test(tcase, an_unsafe_port_directory_is_refused);
    return suite;
}
