/* sd-bus, peer to peer over a socket pair: no broker. The data is an array of bytes. */
#include <systemd/sd-bus.h>

static int bus_check(int result)
{
    if (result >= 0)
        return result;
    if (result == -ECONNRESET || result == -ENOTCONN)
        exit(0);
    errno = -result;
    fail("sd-bus");
    return -1;
}

static int bus_echo(sd_bus_message *message, void *info, sd_bus_error *error)
{
    const void *bytes;
    size_t length;
    sd_bus_message *reply;
    (void)info, (void)error;
    bus_check(sd_bus_message_read_array(message, 'y', &bytes, &length));
    bus_check(sd_bus_message_new_method_return(message, &reply));
    bus_check(sd_bus_message_append_array(reply, 'y', bytes, length));
    bus_check(sd_bus_send(NULL, reply, NULL));
    sd_bus_message_unref(reply);
    return 1;
}

static int bus_swallow(sd_bus_message *message, void *info, sd_bus_error *error)
{
    const void *bytes;
    size_t length;
    (void)info, (void)error;
    bus_check(sd_bus_message_read_array(message, 'y', &bytes, &length));
    acknowledge(bytes);
    return 1;
}

static const sd_bus_vtable bus_methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Echo", "ay", "ay", bus_echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Swallow", "ay", "", bus_swallow, SD_BUS_VTABLE_UNPRIVILEGED | SD_BUS_VTABLE_METHOD_NO_REPLY),
    SD_BUS_VTABLE_END,
};

static sd_bus *bus_open(int fd, int is_server)
{
    sd_bus *bus;
    sd_id128_t id = {{0}};
    bus_check(sd_bus_new(&bus));
    bus_check(sd_bus_set_fd(bus, fd, fd));
    if (is_server) {
        bus_check(sd_id128_randomize(&id));
        bus_check(sd_bus_set_server(bus, 1, id));
        bus_check(sd_bus_add_object_vtable(bus, NULL, "/peer", "com.example.Peer", bus_methods, NULL));
    }
    bus_check(sd_bus_start(bus));
    return bus;
}

static void bus_server(void)
{
    for (sd_bus *bus = bus_open(bus_ends[1], 1);;)
        if (bus_check(sd_bus_process(bus, NULL)) == 0)
            bus_check(sd_bus_wait(bus, UINT64_MAX));
}
#define bus_sink bus_server

static sd_bus_message *bus_message(sd_bus *bus, const char *method, const char *bytes)
{
    sd_bus_message *message;
    bus_check(sd_bus_message_new_method_call(bus, &message, NULL, "/peer", "com.example.Peer", method));
    bus_check(sd_bus_message_append_array(message, 'y', bytes, size));
    return message;
}

static void bus_client(int count)
{
    static sd_bus *bus;
    static char *bytes;
    if (bus == NULL) {
        bytes = filled();
        bus = bus_open(bus_ends[0], 0);
    }
    for (int index = 0; index < count; index++) {
        sd_bus_message *message = bus_message(bus, "Echo", bytes), *reply;
        const void *back;
        size_t length;
        bus_check(sd_bus_call(bus, message, 10000000, NULL, &reply));
        bus_check(sd_bus_message_read_array(reply, 'y', &back, &length));
        if (length != size)
            fail("sd-bus");
        sd_bus_message_unref(message);
        sd_bus_message_unref(reply);
    }
}

static void bus_source(int count)
{
    static sd_bus *bus;
    static char *bytes;
    if (bus == NULL) {
        bytes = filled();
        bus = bus_open(bus_ends[0], 0);
    }
    for (int index = 1; index <= count; index++) {
        bytes[0] = index == count ? LAST : 0;
        sd_bus_message *message = bus_message(bus, "Swallow", bytes);
        bus_check(sd_bus_message_set_expect_reply(message, 0));
        int result = sd_bus_send(bus, message, NULL);
        if (result == -ENOBUFS) { /* too much is queued: slow down to the reader's speed */
            bus_check(sd_bus_flush(bus));
            result = sd_bus_send(bus, message, NULL);
        }
        bus_check(result);
        sd_bus_message_unref(message);
    }
    bus_check(sd_bus_flush(bus));
    await_acknowledgement();
}
