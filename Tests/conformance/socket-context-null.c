/* Semantics 5: without a context the callback's info is NULL; with one, it is the result of the retain function. */
#include "socket.h"

static int other;

static const void *other_info(const void *info)
{
    (void)info;
    return &other;
}

static void say_info(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)type, (void)address, (void)data;
    note("%s", !info ? "NULL" : info == &other ? "other" : "?");
}

static void test(void)
{
    static Sock s, t;
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, WRITE, say_info, NULL);
    add_to(&s, MODE);
    step("no context");
    CFSocketInvalidate(s.socket);
    CFSocketContext context = {.info = &s, .retain = other_info}, copy = {0};
    make_pair(&t, SOCK_STREAM);
    t.socket = CFSocketCreateWithNative(NULL, t.fd, WRITE, say_info, &context);
    add_to(&t, MODE);
    CFSocketGetContext(t.socket, &copy);
    check("info", copy.info == &other);
    step("retained");
}

int main(void) { return on_thread(test); }
