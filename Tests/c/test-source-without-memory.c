/* Checks that removing a source is all or nothing if memory runs out, and that invalidating it always succeeds. */
#include "harness.h"

/* Whether this thread's allocations fail. */
static _Thread_local bool has_no_memory;
/* AddressSanitizer allocates before it can check this access. */
UNUSED __attribute__((no_sanitize("address"))) static bool must_fail(void) { return has_no_memory; }
#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc */
#endif
#if !__has_feature(thread_sanitizer) /* which needs malloc for itself */
#include "../faults/failing-memory.h"
#define MEMORY_FAILS true
#else
#define MEMORY_FAILS false
#endif

/* The library has room for the names of eight modes in which cancel is to be called, without allocating. */
enum { MODES = 10 };
static const char *const names[MODES] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
static RLStringRef modes[MODES];
static int scheduled, cancelled;

static void count_schedule(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { scheduled++; }
static void count_cancel(UNUSED void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode) { cancelled++; }

/* Makes a source that is in MODES common modes, besides the default mode, of this thread's loop. */
static RLRunLoopSourceRef make_common_source(void)
{
    RLRunLoopSourceContext context = {.schedule = count_schedule, .cancel = count_cancel, .perform = do_nothing};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    for (int i = 0; i < MODES; i++) {
        modes[i] = RLStringCreateWithCString(NULL, names[i], kRLStringEncodingUTF8);
        RLRunLoopAddCommonMode(RLRunLoopGetCurrent(), modes[i]);
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), source, kRLRunLoopCommonModes);
    ck_assert_int_eq(scheduled, MODES + 1);
    return source;
}

static void drop_common_source(RLRunLoopSourceRef source)
{
    drop_source(source);
    for (int i = 0; i < MODES; i++)
        RLRelease(modes[i]);
}

START_TEST(a_source_that_cannot_be_removed_is_not_cancelled)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopSourceRef source = make_common_source();
    has_no_memory = true;
    RLRunLoopRemoveSource(rl, source, kRLRunLoopCommonModes);
    has_no_memory = false;
    if (MEMORY_FAILS) {
        ck_assert(RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
        ck_assert_int_eq(cancelled, 0);
        RLRunLoopRemoveSource(rl, source, kRLRunLoopCommonModes);
    }
    ck_assert(!RLRunLoopContainsSource(rl, source, kRLRunLoopCommonModes));
    ck_assert_int_eq(cancelled, MODES + 1);
    drop_common_source(source);
    ck_assert_int_eq(cancelled, MODES + 1);
}
END_TEST

START_TEST(a_source_is_invalidated_without_memory)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    RLRunLoopSourceRef source = make_common_source();
    has_no_memory = true;
    RLRunLoopSourceInvalidate(source);
    has_no_memory = false;
    for (int i = 0; i < MODES; i++)
        ck_assert(!RLRunLoopContainsSource(rl, source, modes[i]));
    ck_assert_int_ge(cancelled, 8);
    ck_assert_int_le(cancelled, MODES + 1);
    drop_common_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source without memory");
    TCase *tcase = add_case(suite, "in many modes", 5);
    tcase_add_test(tcase, a_source_that_cannot_be_removed_is_not_cancelled);
    tcase_add_test(tcase, a_source_is_invalidated_without_memory);
    return suite;
}
