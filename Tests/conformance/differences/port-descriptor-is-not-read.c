/* Difference 2: the loop never reads a version-1 source's descriptor (CF on Linux reads 8 bytes from it before
 * perform). */
#include "../trace.h"

#include <fcntl.h>

static int ends[2];

static int get_port(void *info) { return (void)info, ends[0]; }

static void perform(void *info)
{
    char bytes[64];
    (void)info;
    note("%d-bytes", (int)read(ends[0], bytes, sizeof bytes));
}

static void test(void)
{
    CFRunLoopSourceContext1 context = {.version = 1, .getPort = get_port, .perform = perform};
    if (pipe2(ends, O_NONBLOCK) != 0 || write(ends[1], "sixteen bytes...", 16) != 16)
        abort();
    CFRunLoopAddSource(HERE, CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context), MODE);
    run("16 bytes written", MODE, AGES, true);
}

int main(void) { return on_thread(test); }
