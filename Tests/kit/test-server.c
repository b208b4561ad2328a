/* RLServer: the streams of its connections, their modes, loops and infos, what ends it, fork, mistakes. */
#include "stream.h"
#include "../own-directory.h"

#include <sys/un.h>

static RLListenerRef server;
static struct lifetime life;
static RLStreamRef streams[64];
static int accepted_count;
static char said[256]; /* what streams have received, in order, and O, E, ! as an ear notes them */

static void serve(RLStreamRef stream, const RLStreamEvent *event, UNUSED void *info)
{
    char *end = said + strlen(said);
    if (event->length > 0)
        snprintf(end, sizeof said - strlen(said), "(%.*s)", (int)event->length, (const char *)event->bytes);
    else
        strcat(end, event->type == kRLStreamEventEndEncountered ? "E" : "!");
    if (event->type != kRLStreamEventHasBytesAvailable)
        RLStreamClose(stream);
}
#define assert_served(expected)           \
    do {                                  \
        ck_assert_str_eq(said, expected); \
        said[0] = 0;                      \
    } while (0)

static void note_it(RLListenerRef listener, RLStreamRef stream, UNUSED void *info)
{
    require(listener == server && said[0] == 0);
    require(fcntl(RLStreamGetNativeDescriptor(stream), F_GETFD) & FD_CLOEXEC);
    streams[accepted_count++] = stream;
}

static void make_server(RLServerCallBack accepted, RLStreamCallBack callout, const RLStreamContext *context)
{
    accepted_count = 0;
    server = add(RLServerCreateWithHost(NULL, "127.0.0.1", NULL, accepted, callout, context));
}

static void end_server(void)
{
    RLListenerClose(server);
    RLRelease(server);
}

static bool has_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) == 0;
}

/* -- Streams ------------------------------------------------------------------------------------------------------- */

static void read_lines(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    require(info == &life && lifetime_held(&life) == accepted_count);
    require(RLStreamSetReadDelimiter(stream, "\n", 1, 100));
}

START_TEST(connections_become_streams)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    make_server(read_lines, serve, &context);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_gt(RLListenerGetPort(server), 0);
    int clients[2] = {connect_client(server), connect_client(server)};
    send_text(clients[0], "one\ntw"); /* is there when the connection is accepted */
    run_passes();
    ck_assert_int_eq(accepted_count, 2);
    assert_served("(one\n)");
    send_text(clients[0], "o\n");
    run_passes();
    assert_served("(two\n)");
    end_server();
    ck_assert_int_eq(lifetime_held(&life), 2);
    send_text(clients[1], "three\n");
    close(clients[0]);
    run_passes();
    assert_served(lifetime_held(&life) == 1 && said[0] == 'E' ? "E(three\n)" : "(three\n)E");
    ck_assert_int_eq(lifetime_held(&life), 1);
    RLStreamClose(streams[1]);
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert(has_ended(clients[1]));
    close(clients[1]);
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
}
END_TEST

/* What belongs to one connection is made by retain, and freed by release. */
struct connection {
    struct lifetime *server;
    int lines;
};
static const void *begin_connection(const void *info)
{
    struct connection *connection = calloc(1, sizeof *connection);
    connection->server = (struct lifetime *)info;
    lifetime_retain(info);
    return connection;
}
static void end_connection(const void *info)
{
    lifetime_release(((const struct connection *)info)->server);
    free((void *)info);
}
static void count_lines(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct connection *connection = info;
    char answer[16];
    require(connection->server == &life);
    if (event->length > 0)
        RLStreamWrite(stream, answer, snprintf(answer, sizeof answer, "%d", ++connection->lines));
    else
        RLStreamClose(stream);
}
static void set_count(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    ((struct connection *)info)->lines = accepted_count * 10;
    RLStreamSetReadCount(stream, 1);
}

START_TEST(each_connection_has_its_own_info)
{
    RLStreamContext context = {.info = &life, .retain = begin_connection, .release = end_connection};
    make_server(set_count, count_lines, &context);
    int clients[2] = {connect_client(server), connect_client(server)};
    send_text(clients[0], "xx");
    send_text(clients[1], "x");
    run_passes();
    ck_assert_int_eq(lifetime_held(&life), 2);
    ck_assert_str_eq(take(clients[0]), "1112");
    ck_assert_str_eq(take(clients[1]), "21");
    close(clients[0]);
    close(clients[1]);
    run_passes();
    ck_assert_int_eq(lifetime_held(&life), 0);
    end_server();
}
END_TEST

START_TEST(nothing_to_set_up)
{
    make_server(NULL, serve, NULL);
    int client = connect_client(server);
    send_text(client, "x");
    run_passes();
    assert_served("(x)");
    close(client);
    run_passes();
    assert_served("E");
    end_server();
}
END_TEST

START_TEST(a_client_that_has_already_left_is_served)
{
    make_server(NULL, serve, NULL);
    int client = connect_client(server);
    send_text(client, "x");
    close(client);
    run_passes();
    assert_served("(x)E");
    end_server();
}
END_TEST

static void echo(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    require(RLStreamForwardBoth(stream, stream));
}
START_TEST(streams_without_a_callback)
{
    make_server(echo, NULL, NULL);
    int client = connect_client(server);
    send_text(client, "hello");
    shutdown(client, SHUT_WR);
    run_passes();
    ck_assert_str_eq(take(client), "hello");
    ck_assert(has_ended(client));
    end_server();
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0), kRLRunLoopRunFinished);
    close(client);
}
END_TEST

START_TEST(paths_and_sockets_of_the_program_s)
{
    char directory[OWN_DIRECTORY_SIZE], path[OWN_DIRECTORY_SIZE + 8];
    make_own_directory(directory);
    snprintf(path, sizeof path, "%s/s", directory);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(listen(fd, 1) == 0);
    for (int i = 0; i < 2; i++) {
        server = add(i ? RLServerCreateWithPath(NULL, path, NULL, serve, NULL)
                       : RLServerCreate(NULL, fd, 0, NULL, serve, NULL));
        int client = connect_client(server);
        send_text(client, "x");
        run_passes();
        assert_served("(x)");
        end_server();
        close(client);
        run_passes();
        assert_served("E");
    }
    ck_assert_int_ne(fcntl(fd, F_GETFD), -1); /* not closed */
    close(fd);
    require(rmdir(directory) == 0); /* the socket is gone */
    ck_assert_ptr_null(RLServerCreateWithPath(NULL, path, NULL, serve, NULL));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_null(RLServerCreateWithHost(NULL, "192.0.2.1", NULL, NULL, serve, NULL));
    ck_assert_int_eq(errno, EADDRNOTAVAIL);
}
END_TEST

/* -- Modes and loops ----------------------------------------------------------------------------------------------- */

static bool is_in(RLStreamRef stream, RLRunLoopMode mode)
{
    return RLRunLoopContainsSource(RLRunLoopGetCurrent(), stream, mode);
}

START_TEST(streams_are_in_the_server_s_modes)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopMode one = RLSTR("one"), two = RLSTR("two"), three = RLSTR("three");
    make_server(note_it, serve, NULL);
    RLRunLoopRemoveSource(loop, server, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(loop, server, one);
    RLRunLoopAddSource(loop, server, two);
    int client = connect_client(server);
    while (accepted_count == 0)
        RLRunLoopRunInMode(one, 1e10, 1);
    ck_assert(is_in(streams[0], one) && is_in(streams[0], two) && !is_in(streams[0], kRLRunLoopDefaultMode));
    send_text(client, "x");
    ck_assert_int_eq(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1), kRLRunLoopRunFinished);
    while (said[0] == 0)
        RLRunLoopRunInMode(two, 1e10, 1);
    assert_served("(x)");
    RLStreamClose(streams[0]);
    close(client);
    RLRunLoopRemoveSource(loop, server, one);
    RLRunLoopRemoveSource(loop, server, two);
    RLRunLoopAddSource(loop, server, kRLRunLoopCommonModes);
    client = connect_client(server);
    while (accepted_count == 1)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 1e10, 1);
    RLRunLoopAddCommonMode(loop, three);
    ck_assert(is_in(streams[1], kRLRunLoopCommonModes) && is_in(streams[1], kRLRunLoopDefaultMode));
    ck_assert(is_in(streams[1], three) && !is_in(streams[1], two));
    RLStreamClose(streams[1]);
    close(client);
    end_server();
}
END_TEST

static atomic_int served;
static _Thread_local intptr_t this_thread;
static void check_thread(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    require(is_in(stream, kRLRunLoopDefaultMode));
    if (event->length == 0) {
        RLStreamClose(stream);
        served++;
    }
    (void)info;
}
static void accept_here(UNUSED RLListenerRef listener, RLStreamRef stream, UNUSED void *info)
{
    require(this_thread > 0 && is_in(stream, kRLRunLoopDefaultMode));
}
static void *serve_clients(void *number)
{
    this_thread = (intptr_t)number;
    add(server);
    while (served < 200)
        RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.01, 1);
    return NULL;
}
START_TEST(two_loops_share_it)
{
    server = RLServerCreateWithHost(NULL, "127.0.0.1", NULL, accept_here, check_thread, NULL);
    pthread_t threads[2] = {start_thread(serve_clients, (void *)1), start_thread(serve_clients, (void *)2)};
    for (int i = 0; i < 200; i++) {
        int client = connect_client(server);
        send_text(client, "x");
        close(client);
    }
    join_thread(threads[0]);
    join_thread(threads[1]);
    end_server();
}
END_TEST

/* -- Ends ---------------------------------------------------------------------------------------------------------- */

static void close_server(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    RLListenerClose(listener);
}
START_TEST(it_is_closed_in_a_callback)
{
    make_server(close_server, serve, NULL);
    int clients[2] = {connect_client(server), connect_client(server)};
    run_passes();
    ck_assert_int_eq(accepted_count, 1);
    ck_assert_int_eq(RLListenerGetNativeDescriptor(server), -1);
    send_text(clients[0], "x");
    run_passes();
    assert_served("(x)");
    close(clients[0]);
    close(clients[1]);
    run_passes();
    assert_served("E");
    end_server();
}
END_TEST

static void refuse(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    RLStreamClose(stream);
}
START_TEST(a_stream_is_closed_in_the_callback)
{
    RLStreamContext context = {.info = &life, .retain = lifetime_retain, .release = lifetime_release};
    make_server(refuse, serve, &context);
    int client = connect_client(server);
    run_passes();
    ck_assert(has_ended(client));
    ck_assert_int_eq(lifetime_held(&life), 0);
    ck_assert_int_eq(life.retains, 1);
    close(client);
    end_server();
}
END_TEST

static void run_loop(RLListenerRef listener, RLStreamRef stream, void *info)
{
    note_it(listener, stream, info);
    if (accepted_count == 1)
        run_passes(); /* accepts the second, and serves both */
}
START_TEST(the_loop_runs_in_the_callback)
{
    make_server(run_loop, NULL, NULL);
    int clients[2] = {connect_client(server), connect_client(server)};
    run_passes();
    ck_assert_int_eq(accepted_count, 2);
    for (int i = 0; i < 2; i++) {
        RLStreamClose(streams[i]);
        close(clients[i]);
    }
    end_server();
}
END_TEST

static void serve_in_child(UNUSED void *info)
{
    RLListenerSetEnabled(server, 1);
    run_passes();
    require(accepted_count == 2 && (strcmp(said, "(x)(y)") == 0 || strcmp(said, "(y)(x)") == 0));
    end_server();
}
START_TEST(the_child_of_a_fork_goes_on)
{
    make_server(note_it, serve, NULL);
    run_passes();
    RLListenerSetEnabled(server, 0);
    int clients[2] = {connect_client(server), connect_client(server)};
    send_text(clients[0], "x");
    send_text(clients[1], "y");
    ck_assert_int_eq(run_in_child(serve_in_child, NULL), 0);
    RLListenerSetEnabled(server, 1);
    run_passes();
    ck_assert_int_eq(accepted_count, 0);
    close(clients[0]);
    close(clients[1]);
    end_server();
}
END_TEST

/* -- Mistakes ------------------------------------------------------------------------------------------------------ */

static void create_closed(void) { ck_assert_ptr_null(RLServerCreate(NULL, 999, 1, note_it, serve, NULL)); }
static void create_for_nothing(void) { ck_assert_ptr_null(RLServerCreateWithHost(NULL, NULL, NULL, NULL, NULL, NULL)); }
static void create_nowhere(void) { ck_assert_ptr_null(RLServerCreateWithPath(NULL, NULL, note_it, serve, NULL)); }
static void create_version(void)
{
    RLStreamContext context = {.version = 1};
    ck_assert_ptr_null(RLServerCreateWithHost(NULL, NULL, NULL, note_it, serve, &context));
}
static RLStringRef describe(UNUSED const void *info) { return (RLStringRef)RLRetain(RLSTR("of the chat")); }

START_TEST(mistakes_are_reported)
{
    assert_reports(create_closed, "runloop: RLServerCreate: descriptor: not a stream socket that listens");
    assert_reports(create_for_nothing, "runloop: RLServerCreateWithHost: callout: expected a function, got NULL");
    assert_reports(create_nowhere, "runloop: RLServerCreateWithPath: path: expected a path, got NULL");
    assert_reports(create_version, "runloop: RLServerCreateWithHost: context: version must be 0");
    RLStreamContext context = {.copyDescription = describe};
    make_server(NULL, serve, &context);
    RLStringRef text = RLCopyDescription(server);
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "RLListener"));
    ck_assert_ptr_nonnull(strstr(RLStringGetCStringPtr(text, kRLStringEncodingUTF8), "of the chat"));
    RLRelease(text);
    end_server();
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("server");
    TCase *all = add_case(suite, "server", 30);
    tcase_add_test(all, connections_become_streams);
    tcase_add_test(all, each_connection_has_its_own_info);
    tcase_add_test(all, nothing_to_set_up);
    tcase_add_test(all, a_client_that_has_already_left_is_served);
    tcase_add_test(all, streams_without_a_callback);
    tcase_add_test(all, paths_and_sockets_of_the_program_s);
    tcase_add_test(all, streams_are_in_the_server_s_modes);
    tcase_add_test(all, two_loops_share_it);
    tcase_add_test(all, it_is_closed_in_a_callback);
    tcase_add_test(all, a_stream_is_closed_in_the_callback);
    tcase_add_test(all, the_loop_runs_in_the_callback);
    tcase_add_test(all, the_child_of_a_fork_goes_on);
    tcase_add_test(all, mistakes_are_reported);
    return suite;
}
