/* Difference 2: two version-1 sources on one descriptor both perform (CF on Linux: only the one that was added
 * last). */
#include "../trace.h"

static int fd;
static int performed[2];

static int get_port(void *info) { return (void)info, fd; }

static void perform(void *info)
{
    *(int *)info = 1;
    if (performed[0] && performed[1])
        CFRunLoopStop(HERE);
}

static void add(int *info)
{
    CFRunLoopSourceContext1 context = {.version = 1, .info = info, .getPort = get_port, .perform = perform};
    CFRunLoopAddSource(HERE, CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context), MODE);
}

static void test(void)
{
    fd = eventfd(1, EFD_NONBLOCK);
    add(&performed[0]);
    add(&performed[1]);
    run("ready", MODE, 0.3, false);
    check("first", performed[0]);
    check("second", performed[1]);
    show("performed");
}

int main(void) { return on_thread(test); }
