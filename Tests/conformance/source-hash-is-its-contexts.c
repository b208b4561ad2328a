/* Semantics 2: the hash of a source is the result of the context's hash function or, without one, the hash of info. */
#include "trace.h"

static CFHashCode hash(const void *info) { return (CFHashCode) * (const int *)info; }
static Boolean equal(const void *one, const void *two) { return *(const int *)one == *(const int *)two; }
static void perform(void *info) { (void)info; }

int main(void)
{
    int number = 4711;
    CFRunLoopSourceContext context = {.info = &number, .equal = equal, .hash = hash, .perform = perform};
    CFRunLoopSourceRef with = CFRunLoopSourceCreate(NULL, 0, &context);
    note("%lu", CFHash(with));
    number = -1;
    check("asked again", CFHash(with) == (CFHashCode)-1);
    CFRunLoopSourceInvalidate(with);
    check("also when invalid", CFHash(with) == (CFHashCode)-1);
    show("a hash function");
    context.equal = NULL;
    context.hash = NULL;
    check("info", CFHash(CFRunLoopSourceCreate(NULL, 0, &context)) == (CFHashCode)&number);
    context.info = NULL;
    note("%lu", CFHash(CFRunLoopSourceCreate(NULL, 0, &context)));
    show("none");
    return 0;
}
