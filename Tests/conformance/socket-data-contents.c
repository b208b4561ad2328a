/* Semantics 5: a data callback receives the bytes that were sent; a copy of the CFData outlives the callback. */
#include "socket.h"

static CFDataRef kept[2];
static int count;

static void keep(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    (void)socket, (void)info;
    check("data", type == DATA);
    check("is CFData", CFGetTypeID(data) == CFDataGetTypeID() && CFGetTypeID(address) == CFDataGetTypeID());
    note("address of %ld", (long)CFDataGetLength(address));
    kept[count++] = CFRetain(data);
}

static void test(void)
{
    static Sock s;
    make_pair(&s, SOCK_STREAM);
    s.socket = CFSocketCreateWithNative(NULL, s.fd, DATA, keep, NULL);
    say(s.far, "how do you do");
    add_to(&s, MODE);
    step("sentence");
    say(s.far, "\n");
    step("end of line");
    note("%.*s", (int)CFDataGetLength(kept[0]), (const char *)CFDataGetBytePtr(kept[0]));
    note("%d", CFDataGetBytePtr(kept[1])[0]);
    show("kept");
}

int main(void) { return on_thread(test); }
