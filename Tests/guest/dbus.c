/* What adapters/dbus.h promises: a service and its client, without a bus, in one loop. */
#include "check.h"
#include <RunLoop/adapters/dbus.h>

enum { many = 1000 };

static RLDBusRef service, client;
static int handled, removes, nests;
static void call_some(int first, int count);

/* Replies with the number that was sent. */
static DBusHandlerResult handle(DBusConnection *connection, DBusMessage *message, void *info)
{
    (void)info;
    if (!dbus_message_is_method_call(message, "org.example.Service", "Echo"))
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    dbus_uint32_t number;
    CHECK(dbus_message_get_args(message, NULL, DBUS_TYPE_UINT32, &number, DBUS_TYPE_INVALID));
    DBusMessage *reply = dbus_message_new_method_return(message);
    CHECK(dbus_message_append_args(reply, DBUS_TYPE_UINT32, &number, DBUS_TYPE_INVALID));
    CHECK(dbus_connection_send(connection, reply, NULL));
    dbus_message_unref(reply);
    handled++;
    if (nests) {
        /* Messages that are queued here are not dispatched in this run, and do not keep it awake. */
        int before = passes;
        nests = 0;
        call_some(1, 9);
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.05, 0) == kRLRunLoopRunTimedOut);
        CHECK(passes - before <= 20 && handled == 1);
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}
static void serve(DBusServer *server, DBusConnection *connection, void *info)
{
    (void)server, (void)info;
    CHECK(dbus_connection_add_filter(connection, handle, NULL, NULL));
    service = RLDBusConnectionAdd(connection, kRLRunLoopCommonModes);
    CHECK(service != NULL);
}
static DBusMessage *message_with(dbus_uint32_t number)
{
    DBusMessage *message = dbus_message_new_method_call(NULL, "/", "org.example.Service", "Echo");
    CHECK(dbus_message_append_args(message, DBUS_TYPE_UINT32, &number, DBUS_TYPE_INVALID));
    return message;
}
static void check_reply(DBusMessage *reply, dbus_uint32_t number)
{
    dbus_uint32_t echo;
    CHECK(dbus_message_get_args(reply, NULL, DBUS_TYPE_UINT32, &echo, DBUS_TYPE_INVALID) && echo == number);
    dbus_message_unref(reply);
}

static int wanted;
static void replied(DBusPendingCall *pending, void *info)
{
    (void)info;
    check_reply(dbus_pending_call_steal_reply(pending), (dbus_uint32_t)calls);
    dbus_pending_call_unref(pending);
    if (removes) {
        RLDBusRemove(client);
        client = NULL;
    }
    if (++calls == wanted)
        RLRunLoopStop(rl);
}
static void call_some(int first, int count)
{
    wanted = first + count;
    for (int i = first; i < wanted; i++) {
        DBusMessage *message = message_with((dbus_uint32_t)i);
        DBusPendingCall *pending;
        CHECK(dbus_connection_send_with_reply(client->connection, message, &pending, 60000));
        CHECK(dbus_pending_call_set_notify(pending, replied, NULL, NULL));
        dbus_message_unref(message);
    }
}

/* Sends a request on a thread and waits for the reply, while the loop serves both ends. */
static void *call_and_wait(void *info)
{
    for (dbus_uint32_t i = 0; i < 100; i++) {
        DBusMessage *message = message_with(i);
        DBusMessage *reply = dbus_connection_send_with_reply_and_block(client->connection, message, 60000, NULL);
        CHECK(reply != NULL);
        check_reply(reply, i);
        dbus_message_unref(message);
    }
    RLRunLoopStop(rl);
    return info;
}

static DBusHandlerResult stop_when_disconnected(DBusConnection *connection, DBusMessage *message, void *info)
{
    (void)connection, (void)info;
    if (dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected"))
        stop();
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

int main(int count, char **arguments)
{
    const char *scenario = count > 1 ? arguments[1] : "";
    CHECK(dbus_threads_init_default());
    RLRunLoopObserverRef observer = begin_counting_passes();
    DBusServer *listening = dbus_server_listen("unix:tmpdir=/tmp", NULL);
    CHECK(listening != NULL);
    dbus_server_set_new_connection_function(listening, serve, NULL, NULL);
    RLDBusRef server = RLDBusServerAdd(listening, kRLRunLoopCommonModes);
    char *address = dbus_server_get_address(listening);
    DBusConnection *connection = dbus_connection_open_private(address, NULL);
    dbus_free(address);
    CHECK(server != NULL && connection != NULL);
    client = RLDBusConnectionAdd(connection, kRLRunLoopCommonModes);
    CHECK(client != NULL);
    dbus_connection_set_exit_on_disconnect(connection, FALSE);
    CHECK(dbus_connection_add_filter(connection, stop_when_disconnected, NULL, NULL));
    if (strcmp(scenario, "many") == 0) {
        call_some(0, many);
        run_loop();
        CHECK(calls == many && handled == many);
    } else if (strcmp(scenario, "nested") == 0) {
        nests = 1;
        call_some(0, 1);
        run_loop();
        CHECK(calls == 10 && handled == 10);
    } else if (strcmp(scenario, "from-thread") == 0) {
        run_beside(call_and_wait, run_loop);
        CHECK(handled == 100);
    } else if (strcmp(scenario, "disconnected") == 0) {
        call_some(0, 1);
        run_loop();
        dbus_connection_close(service->connection);
        run_loop();
        CHECK(calls == 2);
        int before = passes;
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.1, 0) == kRLRunLoopRunTimedOut);
        CHECK(passes - before <= 6);
    } else if (strcmp(scenario, "remove") == 0) {
        removes = 1;
        call_some(0, 1);
        run_loop();
        CHECK(calls == 1 && client == NULL);
    } else if (strcmp(scenario, "quiet") == 0) {
        call_some(0, 1);
        run_loop();
        int before = passes;
        CHECK(RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0.2, 0) == kRLRunLoopRunTimedOut);
        CHECK(passes - before <= 6);
    } else {
        return 2;
    }
    if (client != NULL)
        RLDBusRemove(client);
    dbus_connection_close(connection);
    dbus_connection_unref(connection);
    dbus_connection_close(service->connection);
    RLDBusRemove(service);
    RLDBusRemove(server);
    dbus_server_disconnect(listening);
    dbus_server_unref(listening);
    dbus_shutdown();
    end_counting_passes(observer);
    return 0;
}
