/* Semantics 2: GetContext copies as much as fits into the struct of the requested version; the version field says
 * which it is. */
#include "trace.h"

static int info = 7;

static int port(void *pointer)
{
    (void)pointer;
    return -1;
}

static void perform(void *pointer) { (void)pointer; }

static void cancel(void *pointer, CFRunLoopRef loop, CFRunLoopMode mode)
{
    (void)pointer;
    (void)loop;
    (void)mode;
}

static void test(void)
{
    CFRunLoopSourceContext context = {.info = &info, .cancel = cancel, .perform = perform};
    CFRunLoopSourceContext1 context1 = {.version = 1, .info = &info, .getPort = port, .perform = perform};
    CFRunLoopSourceRef zero = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopSourceRef one = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context1);
    union {
        CFRunLoopSourceContext zero;
        CFRunLoopSourceContext1 one;
    } got;
    memset(&got, -1, sizeof got);
    got.zero.version = 0;
    CFRunLoopSourceGetContext(one, &got.zero);
    note("version %ld", (long)got.one.version);
    check("info", got.one.info == &info);
    check("getPort", got.one.getPort == port);
    check("perform", got.one.perform == perform);
    show("version 1 into a struct of version 0");
    memset(&got, -1, sizeof got);
    got.one.version = 1;
    CFRunLoopSourceGetContext(zero, &got.zero);
    note("version %ld", (long)got.zero.version);
    check("info", got.zero.info == &info);
    check("cancel", got.zero.cancel == cancel);
    check("perform was written", got.zero.perform == perform);
    show("version 0 into a struct of version 1");
}

int main(void) { return on_thread(test); }
