/* nng: req0 and rep0, push0 and pull0, over ipc. */
#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

static void nng_server(void)
{
    nng_socket socket;
    void *bytes;
    size_t length;
    if (nng_rep0_open(&socket) || nng_setopt_size(socket, NNG_OPT_RECVMAXSZ, 0) || nng_listen(socket, address, NULL, 0))
        fail("nng");
    while (nng_recv(socket, &bytes, &length, NNG_FLAG_ALLOC) == 0)
        nng_send(socket, bytes, length, NNG_FLAG_ALLOC);
}

static void nng_client(int count)
{
    static nng_socket socket;
    static char *bytes;
    if (bytes == NULL) {
        bytes = filled();
        nng_req0_open(&socket);
        nng_setopt_size(socket, NNG_OPT_RECVMAXSZ, 0);
        while (nng_dial(socket, address, NULL, 0) != 0) {
        }
    }
    for (int index = 0; index < count; index++) {
        size_t length = size;
        if (nng_send(socket, bytes, size, 0) != 0 || nng_recv(socket, bytes, &length, 0) != 0 || length != size)
            fail("nng");
    }
}

static void nng_sink(void)
{
    nng_socket socket;
    void *bytes;
    size_t length;
    if (nng_pull0_open(&socket) || nng_setopt_size(socket, NNG_OPT_RECVMAXSZ, 0) || nng_listen(socket, address, NULL, 0))
        fail("nng");
    while (nng_recv(socket, &bytes, &length, NNG_FLAG_ALLOC) == 0) {
        acknowledge(bytes);
        nng_free(bytes, length);
    }
}

static void nng_source(int count)
{
    static nng_socket socket;
    static char *bytes;
    if (bytes == NULL) {
        bytes = filled();
        nng_push0_open(&socket);
        nng_setopt_int(socket, NNG_OPT_SENDBUF, 128);
        while (nng_dial(socket, address, NULL, 0) != 0) {
        }
    }
    for (int index = 1; index <= count; index++) {
        bytes[0] = index == count ? LAST : 0;
        if (nng_send(socket, bytes, size, 0) != 0)
            fail("nng");
    }
    await_acknowledgement();
}
