/* Checks version-0 sources: their context with its retain and release callbacks, equality, and invalidation inside callbacks. */
#include "harness.h"

static RLRunLoopRef rl;
static void use_current_loop(void) { rl = RLRunLoopGetCurrent(); }

struct record {
    struct lifetime life; /* first: the context's info is both */
    RLRunLoopSourceRef source;
    int scheduled, cancelled, performed;
    bool releases_itself;
};

static void record_schedule(void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    ((struct record *)info)->scheduled++;
}
static void record_cancel(void *info, UNUSED RLRunLoopRef loop, UNUSED RLRunLoopMode mode)
{
    ((struct record *)info)->cancelled++;
}
static void record_perform(void *info) { ((struct record *)info)->performed++; }

static RLRunLoopSourceContext record_context(struct record *record, void (*perform)(void *))
{
    return (RLRunLoopSourceContext){.info = record,
                                    .retain = lifetime_retain,
                                    .release = lifetime_release,
                                    .schedule = record_schedule,
                                    .cancel = record_cancel,
                                    .perform = perform};
}

static void make_record(struct record *record, void (*perform)(void *))
{
    RLRunLoopSourceContext context = record_context(record, perform);
    record->source = RLRunLoopSourceCreate(NULL, 7, &context);
    ck_assert_ptr_nonnull(record->source);
}

START_TEST(a_new_source_is_valid_and_returns_its_context)
{
    struct record record = {0};
    make_record(&record, record_perform);
    ck_assert(RLRunLoopSourceIsValid(record.source));
    ck_assert_int_eq(RLRunLoopSourceGetOrder(record.source), 7);
    RLRunLoopSourceContext got = {.version = 0};
    RLRunLoopSourceGetContext(record.source, &got);
    ck_assert_ptr_eq(got.info, &record);
    ck_assert(got.perform == record_perform && got.schedule == record_schedule && got.cancel == record_cancel);
    ck_assert(got.retain == lifetime_retain && got.release == lifetime_release);
    ck_assert_int_eq(record.life.retains, 1);
    RLRelease(record.source);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static int no_port(UNUSED void *info) { return -1; }

/* As in CF, the version says how large the caller's struct is, and afterwards which struct was stored in it. */
START_TEST(a_context_of_the_other_version_is_copied_as_far_as_it_fits)
{
    struct record record = {0};
    RLRunLoopSourceRef port = make_port_source(0, no_port, do_nothing, &record);
    make_record(&record, record_perform);
    union {
        RLRunLoopSourceContext version0;
        RLRunLoopSourceContext1 version1;
    } got;
    memset(&got, -1, sizeof got);
    got.version0.version = 0; /* room for all of the smaller struct */
    RLRunLoopSourceGetContext(port, &got.version0);
    ck_assert_int_eq(got.version1.version, 1);
    ck_assert_ptr_eq(got.version1.info, &record);
    ck_assert(got.version1.getPort == no_port && got.version1.perform == do_nothing);
    ck_assert(got.version0.perform == NULL);
    memset(&got, -1, sizeof got);
    got.version1.version = 1; /* no room for perform */
    RLRunLoopSourceGetContext(record.source, &got.version0);
    ck_assert_int_eq(got.version0.version, 0);
    ck_assert_ptr_eq(got.version0.info, &record);
    ck_assert(got.version0.cancel == record_cancel);
    ck_assert_int_eq((intptr_t)got.version0.perform, -1);
    drop_source(port);
    drop_source(record.source);
}
END_TEST

static const void *retain_elsewhere(const void *info) { return (const char *)info + sizeof(struct record); }

START_TEST(the_info_is_what_retain_returned)
{
    struct record records[2] = {0};
    RLRunLoopSourceContext context = record_context(&records[0], record_perform);
    context.retain = retain_elsewhere;
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    ck_assert_int_eq(records[0].scheduled, 0);
    ck_assert_int_eq(records[1].scheduled, 1);
    RLRunLoopSourceSignal(source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(records[1].performed, 1);
    drop_source(source);
    ck_assert_int_eq(records[1].cancelled, 1);
    ck_assert_int_eq(records[1].life.releases, 1);
    ck_assert_int_eq(records[0].life.releases, 0);
}
END_TEST

START_TEST(info_is_retained_once_however_many_modes)
{
    struct record record = {0};
    make_record(&record, record_perform);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, record.source, RLSTR("second"));
    RLRunLoopAddSource(rl, record.source, RLSTR("third"));
    ck_assert_int_eq(record.life.retains, 1);
    ck_assert_int_eq(record.scheduled, 3);
    RLRelease(record.source); /* the loop keeps it */
    ck_assert(RLRunLoopSourceIsValid(record.source));
    ck_assert_int_eq(record.life.releases, 0);
    RLRunLoopRemoveSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopRemoveSource(rl, record.source, RLSTR("second"));
    ck_assert_int_eq(record.life.releases, 0);
    RLRunLoopRemoveSource(rl, record.source, RLSTR("third"));
    ck_assert_int_eq(record.life.releases, 1);
    ck_assert_int_eq(record.cancelled, 3);
}
END_TEST

START_TEST(invalidation_cancels_each_mode_once_and_keeps_the_info_until_the_last_release)
{
    struct record record = {0};
    make_record(&record, record_perform);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, record.source, RLSTR("second"));
    RLRunLoopSourceInvalidate(record.source);
    RLRunLoopSourceInvalidate(record.source);
    ck_assert_int_eq(record.cancelled, 2);
    ck_assert(!RLRunLoopSourceIsValid(record.source));
    ck_assert(!RLRunLoopContainsSource(rl, record.source, kRLRunLoopDefaultMode));
    RLRunLoopSourceContext got = {.version = 0};
    RLRunLoopSourceGetContext(record.source, &got);
    ck_assert_ptr_eq(got.info, &record);
    ck_assert_int_eq(record.life.releases, 0);
    RLRelease(record.source);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

START_TEST(an_invalid_source_cannot_be_added_or_performed)
{
    struct record record = {0};
    make_record(&record, record_perform);
    RLRunLoopSourceInvalidate(record.source);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsSource(rl, record.source, kRLRunLoopDefaultMode));
    RLRunLoopSourceSignal(record.source);
    ck_assert_int_eq(RLRunLoopRunInMode(RLSTR("custom"), 0, 0), kRLRunLoopRunFinished);
    ck_assert_int_eq(record.scheduled + record.performed, 0);
    RLRelease(record.source);
}
END_TEST

static void invalidate_self(void *info)
{
    struct record *record = info;
    record->performed++;
    RLRunLoopSourceInvalidate(record->source);
    ck_assert_int_eq(record->cancelled, 1); /* immediately, not after the callback */
    ck_assert(!RLRunLoopSourceIsValid(record->source));
    RLRunLoopSourceSignal(record->source);
    RLRunLoopAddSource(rl, record->source, kRLRunLoopDefaultMode);
    ck_assert(!RLRunLoopContainsSource(rl, record->source, kRLRunLoopDefaultMode));
    if (record->releases_itself) {
        RLRelease(record->source);
        ck_assert_int_eq(record->life.releases, 0); /* the callback still uses info */
    }
}

START_TEST(a_source_may_invalidate_itself_in_its_callback)
{
    struct record record = {0};
    make_record(&record, invalidate_self);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(record.source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.performed, 1);
    ck_assert_int_eq(record.life.releases, 0);
    RLRelease(record.source);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

START_TEST(a_source_may_invalidate_and_release_itself_in_its_callback)
{
    struct record record = {.releases_itself = true};
    make_record(&record, invalidate_self);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(record.source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.performed, 1);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static void release_own_reference(void *info)
{
    struct record *record = info;
    record->performed++;
    RLRelease(record->source);
}

START_TEST(a_source_that_releases_itself_in_its_callback_stays_with_the_loop)
{
    struct record record = {0};
    make_record(&record, release_own_reference);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(record.source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.life.releases, 0);
    ck_assert(RLRunLoopContainsSource(rl, record.source, kRLRunLoopDefaultMode));
    RLRunLoopSourceInvalidate(record.source); /* the loop had the last reference */
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static void remove_and_release_self(void *info)
{
    struct record *record = info;
    record->performed++;
    RLRunLoopRemoveSource(rl, record->source, kRLRunLoopDefaultMode);
    RLRelease(record->source);
}

START_TEST(a_source_may_remove_and_release_itself_in_its_callback)
{
    struct record record = {0};
    make_record(&record, remove_and_release_self);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(record.source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(record.performed, 1);
    ck_assert_int_eq(record.cancelled, 1);
    ck_assert_int_eq(record.life.releases, 1);
}
END_TEST

static RLBoolean equal_by_performed(const void *one, const void *other)
{
    return ((const struct record *)one)->performed == ((const struct record *)other)->performed;
}
static RLHashCode hash_by_performed(const void *info) { return (RLHashCode)((const struct record *)info)->performed; }

START_TEST(an_equal_source_counts_as_contained_and_is_not_added)
{
    struct record records[2] = {{.performed = 5}, {.performed = 5}};
    RLRunLoopSourceRef sources[2];
    for (int i = 0; i < 2; i++) {
        RLRunLoopSourceContext context = record_context(&records[i], record_perform);
        context.equal = equal_by_performed;
        context.hash = hash_by_performed;
        sources[i] = RLRunLoopSourceCreate(NULL, 7, &context);
    }
    ck_assert(RLEqual(sources[0], sources[1]));
    ck_assert_uint_eq(RLHash(sources[0]), RLHash(sources[1]));
    RLRunLoopAddSource(rl, sources[0], kRLRunLoopDefaultMode);
    ck_assert(RLRunLoopContainsSource(rl, sources[1], kRLRunLoopDefaultMode));
    RLRunLoopAddSource(rl, sources[1], kRLRunLoopDefaultMode);
    ck_assert_int_eq(records[1].scheduled, 0);
    for (int i = 0; i < 2; i++)
        drop_source(sources[i]);
}
END_TEST

/* -- If equal sources are added at the same moment, a mode takes the first -- */

static RLRunLoopSourceRef rival; /* added while the other one's equal callback runs */
static RLRunLoopMode rival_mode;

static void *add_rival(UNUSED void *info)
{
    RLRunLoopSourceRef source = rival;
    rival = NULL;
    RLRunLoopAddSource(rl, source, rival_mode);
    return NULL;
}

static RLBoolean equal_to_a_rival(const void *one, const void *other)
{
    if (rival != NULL)
        join_thread(start_thread(add_rival, NULL));
    return ((const struct record *)one)->life.retains == ((const struct record *)other)->life.retains;
}

static RLHashCode same_hash(UNUSED const void *info) { return 1; }

START_TEST(of_equal_sources_added_at_the_same_time_a_mode_takes_the_first)
{
    const RLRunLoopMode mode = rival_mode = _i ? RLSTR("becomes common") : kRLRunLoopDefaultMode;
    struct record unequal = {0}, records[2] = {0};
    RLRunLoopSourceContext context = {.equal = equal_to_a_rival, .hash = same_hash, .perform = record_perform};
    context.info = &unequal;
    RLRunLoopSourceRef witness = RLRunLoopSourceCreate(NULL, 0, &context), sources[2];
    RLRunLoopAddSource(rl, witness, mode);
    for (int i = 0; i < 2; i++) {
        records[i].life.retains = 5; /* the value by which they are compared */
        context.info = &records[i];
        sources[i] = RLRunLoopSourceCreate(NULL, 0, &context);
    }
    if (_i)
        RLRunLoopAddSource(rl, sources[0], kRLRunLoopCommonModes);
    rival = sources[1];
    if (_i)
        RLRunLoopAddCommonMode(rl, mode);
    else
        RLRunLoopAddSource(rl, sources[0], mode);
    for (int i = 0; i < 2; i++)
        RLRunLoopSourceSignal(sources[i]);
    RLRunLoopRunInMode(mode, 0, 0);
    ck_assert_int_eq(records[0].performed, 0);
    ck_assert_int_eq(records[1].performed, 1);
    for (int i = 0; i < 2; i++)
        drop_source(sources[i]);
    drop_source(witness);
}
END_TEST

/* -- Each source is compared once, whatever is added and removed meanwhile -- */

static RLRunLoopSourceRef passer_by;
static bool passer_by_stays;
static int questions;

static RLBoolean equal_while_others_come_and_go(const void *one, const void *other)
{
    static bool is_nested;
    if (is_nested)
        return false;
    questions++;
    is_nested = true;
    RLRunLoopRemoveSource(rl, passer_by, rival_mode);
    RLRunLoopAddSource(rl, passer_by, rival_mode);
    if (!passer_by_stays)
        RLRunLoopRemoveSource(rl, passer_by, rival_mode);
    is_nested = false;
    return one == other;
}

START_TEST(each_source_is_compared_once_while_others_are_added_and_removed)
{
    const bool becomes_common = _i & 1, may_be_equal = _i & 2;
    const RLRunLoopMode mode = rival_mode = becomes_common ? RLSTR("becomes common") : kRLRunLoopDefaultMode;
    struct record records[3] = {0};
    RLRunLoopSourceContext context = {
        .equal = equal_while_others_come_and_go, .hash = same_hash, .perform = record_perform};
    RLRunLoopSourceRef sources[2];
    for (int i = 0; i < 2; i++) {
        context.info = &records[i];
        sources[i] = RLRunLoopSourceCreate(NULL, 0, &context);
    }
    context.info = &records[2];
    passer_by_stays = may_be_equal;
    passer_by = may_be_equal ? RLRunLoopSourceCreate(NULL, 0, &context) : make_source(0, do_nothing, NULL);
    if (becomes_common)
        RLRunLoopAddSource(rl, sources[1], kRLRunLoopCommonModes);
    RLRunLoopAddSource(rl, sources[0], mode);
    RLRunLoopRemoveSource(rl, passer_by, mode);
    questions = 0;
    if (becomes_common)
        RLRunLoopAddCommonMode(rl, mode);
    else
        RLRunLoopAddSource(rl, sources[1], mode);
    ck_assert_int_eq(questions, may_be_equal ? 2 : 1); /* sources[0], and the one that was added meanwhile */
    ck_assert(RLRunLoopContainsSource(rl, sources[1], mode));
    for (int i = 0; i < 2; i++)
        drop_source(sources[i]);
    drop_source(passer_by);
}
END_TEST

static void note_cancel_and_use_loop(void *info, RLRunLoopRef loop, RLRunLoopMode mode)
{
    struct record *record = info;
    record->cancelled++;
    ck_assert(!RLRunLoopContainsSource(loop, record->source, mode)); /* callbacks run with no lock held */
    RLRunLoopWakeUp(loop);
    RLRunLoopSourceRef other = make_source(0, do_nothing, NULL);
    RLRunLoopAddSource(loop, other, mode);
    drop_source(other);
}

START_TEST(schedule_and_cancel_callbacks_may_use_the_loop)
{
    struct record record = {0};
    RLRunLoopSourceContext context = record_context(&record, record_perform);
    context.cancel = note_cancel_and_use_loop;
    record.source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopRemoveSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopAddSource(rl, record.source, kRLRunLoopDefaultMode);
    RLRunLoopSourceInvalidate(record.source);
    ck_assert_int_eq(record.cancelled, 2);
    RLRelease(record.source);
}
END_TEST

START_TEST(a_source_without_callbacks_is_allowed)
{
    RLRunLoopSourceContext context = {.version = 0};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopAddSource(rl, source, kRLRunLoopDefaultMode);
    RLRunLoopSourceSignal(source);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert(!RLRunLoopSourceIsSignalled(source));
    drop_source(source);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("source-lifetime");
    TCase *tcase = add_case(suite, "lifetime", 20);
    tcase_add_checked_fixture(tcase, use_current_loop, NULL);
    tcase_add_test(tcase, a_new_source_is_valid_and_returns_its_context);
    tcase_add_test(tcase, a_context_of_the_other_version_is_copied_as_far_as_it_fits);
    tcase_add_test(tcase, the_info_is_what_retain_returned);
    tcase_add_test(tcase, info_is_retained_once_however_many_modes);
    tcase_add_test(tcase, invalidation_cancels_each_mode_once_and_keeps_the_info_until_the_last_release);
    tcase_add_test(tcase, an_invalid_source_cannot_be_added_or_performed);
    tcase_add_test(tcase, a_source_may_invalidate_itself_in_its_callback);
    tcase_add_test(tcase, a_source_may_invalidate_and_release_itself_in_its_callback);
    tcase_add_test(tcase, a_source_that_releases_itself_in_its_callback_stays_with_the_loop);
    tcase_add_test(tcase, a_source_may_remove_and_release_itself_in_its_callback);
    tcase_add_test(tcase, an_equal_source_counts_as_contained_and_is_not_added);
    tcase_add_loop_test(tcase, of_equal_sources_added_at_the_same_time_a_mode_takes_the_first, 0, 2);
    tcase_add_loop_test(tcase, each_source_is_compared_once_while_others_are_added_and_removed, 0, 4);
    tcase_add_test(tcase, schedule_and_cancel_callbacks_may_use_the_loop);
    tcase_add_test(tcase, a_source_without_callbacks_is_allowed);
    return suite;
}
