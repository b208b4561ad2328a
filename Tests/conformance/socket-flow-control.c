/* Semantics 5: a megabyte passes through a small buffer: one end writes in write callbacks, the other receives data
 * callbacks. */
#include "socket.h"

enum { SIZE = 1 << 20 };
static int sent, received, wrong;

static unsigned char byte_at(int position) { return (unsigned char)(position * 7 + position / 251); }

static void write_more(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    unsigned char bytes[5000];
    int size = SIZE - sent < 5000 ? SIZE - sent : 5000;
    (void)type, (void)address, (void)data, (void)info;
    for (int i = 0; i < size; i++)
        bytes[i] = byte_at(sent + i);
    ssize_t done = send(CFSocketGetNative(socket), bytes, (size_t)size, MSG_NOSIGNAL);
    sent += done > 0 ? (int)done : 0;
    if (sent == SIZE)
        CFSocketInvalidate(socket);
    else
        CFSocketEnableCallBacks(socket, WRITE);
}

static void read_more(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type, (void)address, (void)info;
    for (CFIndex i = 0; i < CFDataGetLength(data); i++)
        wrong += CFDataGetBytePtr(data)[i] != byte_at(received++);
}

static void test(void)
{
    static Sock in = {.socket = NULL};
    make_pair(&in, SOCK_STREAM);
    CFSocketRef out = CFSocketCreateWithNative(NULL, in.far, WRITE, write_more, NULL);
    in.socket = CFSocketCreateWithNative(NULL, in.fd, DATA, read_more, NULL);
    fcntl(in.far, F_SETFL, O_NONBLOCK);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, out, 0);
    CFRunLoopAddSource(HERE, source, MODE);
    add_to(&in, MODE);
    run("until both are invalid", MODE, AGES, false);
    note("%d sent %d received %d wrong", sent, received, wrong);
    show("bytes");
}

int main(void) { return on_thread(test); }
