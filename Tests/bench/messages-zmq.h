/* ZeroMQ: REQ and REP, PUSH and PULL, over ipc. */
#include <zmq.h>

static void zmq_server(void)
{
    void *socket = zmq_socket(zmq_ctx_new(), ZMQ_REP);
    if (zmq_bind(socket, address) != 0)
        fail("ZeroMQ");
    for (;;) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket, 0) < 0 || zmq_msg_send(&message, socket, 0) < 0)
            exit(0);
    }
}

static void zmq_client(int count)
{
    static void *socket;
    static char *bytes;
    if (socket == NULL) {
        bytes = filled();
        socket = zmq_socket(zmq_ctx_new(), ZMQ_REQ);
        zmq_connect(socket, address);
    }
    for (int index = 0; index < count; index++)
        if (zmq_send(socket, bytes, size, 0) < 0 || zmq_recv(socket, bytes, size, 0) != (int)size)
            fail("ZeroMQ");
}

static void zmq_sink(void)
{
    void *socket = zmq_socket(zmq_ctx_new(), ZMQ_PULL);
    if (zmq_bind(socket, address) != 0)
        fail("ZeroMQ");
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, socket, 0) >= 0)
        acknowledge(zmq_msg_data(&message));
}

static void zmq_source(int count)
{
    static void *socket;
    static char *bytes;
    if (socket == NULL) {
        bytes = filled();
        socket = zmq_socket(zmq_ctx_new(), ZMQ_PUSH);
        zmq_connect(socket, address);
    }
    for (int index = 1; index <= count; index++) {
        bytes[0] = index == count ? LAST : 0;
        if (zmq_send(socket, bytes, size, 0) < 0)
            fail("ZeroMQ");
    }
    await_acknowledgement();
}
