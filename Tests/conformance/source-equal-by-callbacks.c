/* Semantics 2: sources are compared by the context's equal and hash: a second, equal one is not added, yet Contains
 * returns true. */
#include "trace.h"

static Boolean same_key(const void *one, const void *two) { return *(const int *)one == *(const int *)two; }
static CFHashCode key(const void *info) { return (CFHashCode) * (const int *)info; }
static void perform(void *info) { note("perform(%d)", *(int *)info); }

static CFRunLoopSourceRef create(int *info, CFIndex order)
{
    CFRunLoopSourceContext context = {.info = info, .equal = same_key, .hash = key, .perform = perform};
    return CFRunLoopSourceCreate(NULL, order, &context);
}

static void test(void)
{
    static int five = 5, another_five = 5, six = 6;
    CFRunLoopSourceRef a = create(&five, 0), b = create(&another_five, 0), c = create(&six, 0), d = create(&five, 1);
    check("a=b", CFEqual(a, b));
    check("a=c", CFEqual(a, c));
    check("a=d (other order)", CFEqual(a, d));
    check("hash a=b", CFHash(a) == CFHash(b));
    show("equal");
    CFRunLoopAddSource(HERE, a, MODE);
    CFRunLoopAddSource(HERE, b, MODE);
    check("a", CFRunLoopContainsSource(HERE, a, MODE));
    check("b", CFRunLoopContainsSource(HERE, b, MODE));
    check("c", CFRunLoopContainsSource(HERE, c, MODE));
    check("d", CFRunLoopContainsSource(HERE, d, MODE));
    show("contained");
    CFRunLoopSourceSignal(b);
    run("b signalled", MODE, 0, false);
    CFRunLoopSourceSignal(a);
    run("a signalled", MODE, 0, false);
}

int main(void) { return on_thread(test); }
