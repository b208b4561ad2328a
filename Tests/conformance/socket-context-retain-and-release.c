/* Semantics 5: the context is retained once at creation and, in pairs, around each callback; Invalidate releases it
 * immediately. */
#include "socket.h"

static int retained;

static const void *plus(const void *info)
{
    retained++;
    return info;
}

static void minus(const void *info)
{
    (void)info;
    retained--;
}

static void in_callback(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    note("inside %d", retained);
    sock_called(socket, type, address, data, info);
}

static void test(void)
{
    static Sock s = {.takes = 9};
    CFSocketContext context = {.info = &s, .retain = plus, .release = minus};
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, READ, in_callback, &context);
    note("created %d", retained);
    add_to(&s, MODE);
    add_to(&s, OTHER);
    note("added %d", retained);
    say(s.far, "abc");
    step("callback");
    note("after %d", retained);
    CFSocketContext copy = {0};
    CFSocketGetContext(s.socket, &copy);
    check("context", copy.info == &s && copy.retain == plus && copy.release == minus);
    note("version %ld got %d", (long)copy.version, retained);
    CFSocketInvalidate(s.socket);
    note("invalid %d", retained);
    CFSocketGetContext(s.socket, &copy);
    check("empty", !copy.info && !copy.retain && !copy.release && !copy.copyDescription);
    CFRelease(s.source);
    CFRelease(s.socket);
    note("released %d", retained);
    show("counts");
}

int main(void) { return on_thread(test); }
