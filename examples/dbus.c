/* dbus.c - D-Bus with libdbus (adapters/dbus.h). A client and a service in one loop talk to each other without a
 * bus. */
#include <RunLoop/adapters/dbus.h>
#include <stdio.h>

static RLDBusRef service; /* the connection that the server has accepted */
static DBusConnection *client;

/* ---- The service ---- */

static DBusHandlerResult handle(DBusConnection *connection, DBusMessage *message, void *info)
{
    (void)info;
    if (dbus_message_is_method_call(message, "org.example.Service", "Greet")) {
        const char *text = "hello from the service";
        DBusMessage *reply = dbus_message_new_method_return(message);
        dbus_message_append_args(reply, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID);
        dbus_connection_send(connection, reply, NULL);
        dbus_message_unref(reply);
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (dbus_message_is_method_call(message, "org.example.Service", "Sleep"))
        return DBUS_HANDLER_RESULT_HANDLED; /* no reply is ever sent */
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

static void serve(DBusServer *server, DBusConnection *connection, void *info)
{
    (void)server, (void)info;
    dbus_connection_add_filter(connection, handle, NULL, NULL);
    service = RLDBusConnectionAdd(connection, kRLRunLoopDefaultMode); /* retains the connection */
}

/* ---- The client ---- */

static void call(const char *method, int milliseconds, DBusPendingCallNotifyFunction replied)
{
    DBusMessage *message = dbus_message_new_method_call(NULL, "/", "org.example.Service", method);
    DBusPendingCall *pending = NULL;
    if (!dbus_connection_send_with_reply(client, message, &pending, milliseconds) || pending == NULL ||
        !dbus_pending_call_set_notify(pending, replied, NULL, NULL))
        exit((fprintf(stderr, "dbus: cannot send\n"), 1));
    dbus_message_unref(message);
}

static DBusMessage *takeReply(DBusPendingCall *pending)
{
    DBusMessage *reply = dbus_pending_call_steal_reply(pending);
    dbus_pending_call_unref(pending);
    return reply;
}

static void gaveUp(DBusPendingCall *pending, void *info)
{
    (void)info;
    DBusMessage *reply = takeReply(pending);
    printf("%s\n", dbus_message_get_error_name(reply));
    dbus_message_unref(reply);
    RLRunLoopStop(RLRunLoopGetCurrent());
}

static void greeted(DBusPendingCall *pending, void *info)
{
    (void)info;
    DBusMessage *reply = takeReply(pending);
    const char *text;
    if (dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID))
        printf("%s\n", text);
    dbus_message_unref(reply);
    call("Sleep", 10, gaveUp);
}

int main(void)
{
    DBusServer *listening = dbus_server_listen("unix:tmpdir=/tmp", NULL);
    if (listening == NULL)
        return 1;
    dbus_server_set_new_connection_function(listening, serve, NULL, NULL);
    RLDBusRef server = RLDBusServerAdd(listening, kRLRunLoopDefaultMode);
    char *address = dbus_server_get_address(listening);
    client = dbus_connection_open_private(address, NULL);
    dbus_free(address);
    RLDBusRef connection = client != NULL ? RLDBusConnectionAdd(client, kRLRunLoopDefaultMode) : NULL;
    if (server == NULL || connection == NULL)
        return 1;

    call("Greet", 60000, greeted);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);

    RLDBusRemove(connection);
    dbus_connection_close(client);
    dbus_connection_unref(client);
    dbus_connection_close(service->connection);
    RLDBusRemove(service);
    RLDBusRemove(server);
    dbus_server_disconnect(listening);
    dbus_server_unref(listening);
    dbus_shutdown();
    return result == kRLRunLoopRunStopped ? 0 : 1;
}
