/* Difference 2: a version-1 source performs again while its descriptor is ready (CF on Linux: only once per
 * arrival). */
#include "../trace.h"

#include <fcntl.h>

static int ends[2];
static int calls;

static int get_port(void *info) { return (void)info, ends[0]; }

static void perform(void *info)
{
    (void)info;
    note("P");
    if (++calls == 3)
        CFRunLoopStop(HERE);
}

static void test(void)
{
    CFRunLoopSourceContext1 context = {.version = 1, .getPort = get_port, .perform = perform};
    if (pipe2(ends, O_NONBLOCK) != 0 || write(ends[1], "sixteen bytes...", 16) != 16)
        abort();
    CFRunLoopAddSource(HERE, CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context), MODE);
    run("nobody reads", MODE, 0.3, false);
}

int main(void) { return on_thread(test); }
