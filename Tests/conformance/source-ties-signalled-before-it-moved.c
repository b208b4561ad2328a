/* Semantics 2: sources of equal order are performed in the order in which they were first signalled, even if one
 * left its mode or its loop while signalled, and another mode ran before it was added again. */
#include "trace.h"

static Item first = {.name = "first"}, second = {.name = "second"};

static void begin(void)
{
    static Item other = {.name = "other"};
    CFRunLoopAddSource(HERE, create_source(&other, 0), OTHER);
    CFRunLoopAddSource(HERE, create_source(&first, 0), CFSTR("third"));
    CFRunLoopAddSource(HERE, create_source(&second, 0), MODE);
}

static void end(const char *label)
{
    CFRunLoopAddSource(HERE, first.source, MODE);
    run(label, MODE, 0, false);
    CFRunLoopSourceInvalidate(first.source);
    CFRunLoopSourceInvalidate(second.source);
}

static void test(void)
{
    begin();
    CFRunLoopSourceSignal(first.source);
    CFRunLoopRemoveSource(HERE, first.source, CFSTR("third"));
    CFRunLoopSourceSignal(second.source);
    end("moved");
    begin();
    CFRunLoopSourceSignal(first.source);
    CFRunLoopRemoveSource(HERE, first.source, CFSTR("third"));
    run("another mode", OTHER, 0, false);
    CFRunLoopSourceSignal(second.source);
    end("moved, another mode was run in between");
    begin();
    CFRunLoopSourceSignal(first.source);
    CFRunLoopRemoveSource(HERE, first.source, CFSTR("third"));
    CFRunLoopSourceSignal(second.source);
    run("another mode", OTHER, 0, false);
    end("moved, another mode was run afterwards");
    begin();
    CFRunLoopSourceSignal(first.source);
    CFRunLoopRemoveSource(HERE, first.source, CFSTR("third"));
    run("another mode", OTHER, 0, false);
    CFRunLoopSourceSignal(second.source);
    run("another mode", OTHER, 0, false);
    end("moved, another mode was run before and afterwards");
}

int main(void) { return on_thread(test); }
