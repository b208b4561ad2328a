/* Checks objects, data and arrays as any client sees them. Misuse is in test-misuse-*.c. */
#include "harness.h"

START_TEST(the_version_function_matches_the_header) { ck_assert_int_eq(RLGetVersion(), RL_VERSION); }
END_TEST

START_TEST(the_clock_counts_from_2001)
{
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    RLAbsoluteTime now = RLAbsoluteTimeGetCurrent() + kRLAbsoluteTimeIntervalSince1970;
    clock_gettime(CLOCK_REALTIME, &after);
    ck_assert_double_eq(kRLAbsoluteTimeIntervalSince1970, 978307200.0);
    ck_assert_double_ge(now, (double)before.tv_sec + (double)before.tv_nsec * 1e-9 - 1e-6);
    ck_assert_double_le(now, (double)after.tv_sec + (double)after.tv_nsec * 1e-9 + 1e-6);
    ck_assert_ptr_null(kRLAllocatorDefault);
}
END_TEST

START_TEST(every_kind_of_object_has_its_own_type)
{
    RLDataRef data = RLDataCreate(NULL, NULL, 0);
    RLArrayRef array = RLArrayCreate(NULL, NULL, 0, NULL);
    RLRunLoopSourceContext context = {.version = 0};
    RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, 0, &context);
    RLRunLoopTimerRef timer = make_timer(0, 0, count_timer, NULL);
    RLRunLoopObserverRef observer = make_observer(0, 0, 0, count_activity, NULL);
    RLTypeRef objects[] = {kRLRunLoopDefaultMode, data, array, RLRunLoopGetCurrent(), source, timer, observer};
    RLTypeID types[] = {RLStringGetTypeID(),         RLDataGetTypeID(),          RLArrayGetTypeID(),
                        RLRunLoopGetTypeID(),        RLRunLoopSourceGetTypeID(), RLRunLoopTimerGetTypeID(),
                        RLRunLoopObserverGetTypeID()};
    for (int i = 0; i < 7; i++) {
        ck_assert_uint_ne(types[i], 0);
        ck_assert_uint_eq(RLGetTypeID(objects[i]), types[i]);
        for (int j = 0; j < 7; j++)
            ck_assert_int_eq(RLEqual(objects[i], objects[j]), i == j);
        RLStringRef description = RLCopyDescription(objects[i]);
        ck_assert_int_gt(RLStringGetLength(description), 0);
        RLRelease(description);
    }
    for (int i = 1; i < 7; i++)
        if (i != 3)
            RLRelease(objects[i]);
}
END_TEST

START_TEST(retain_and_release_are_counted)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"abc", 3);
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    ck_assert_ptr_eq(RLRetain(data), data);
    ck_assert_int_eq(RLGetRetainCount(data), 2);
    RLRelease(data);
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(data);
}
END_TEST

START_TEST(constant_strings_are_immortal)
{
    RLStringRef constants[] = {kRLRunLoopDefaultMode, RLSTR("a constant")};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(RLGetRetainCount(constants[i]), INT64_MAX);
        for (int releases = 0; releases < 10; releases++)
            RLRelease(constants[i]);
        ck_assert_ptr_eq(RLRetain(constants[i]), constants[i]);
        ck_assert_int_gt(RLStringGetLength(constants[i]), 0);
    }
}
END_TEST

static void *retain_often(void *info)
{
    for (int i = 0; i < SCALED(100000); i++) {
        RLRetain(info);
        RLRelease(info);
    }
    return NULL;
}

START_TEST(reference_counts_are_exact_under_four_threads)
{
    RLDataRef data = RLDataCreate(NULL, (const uint8_t *)"abc", 3);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start_thread(retain_often, (void *)data);
    for (int i = 0; i < 4; i++)
        join_thread(threads[i]);
    ck_assert_int_eq(RLGetRetainCount(data), 1);
    RLRelease(data);
}
END_TEST

static RLStringRef string(const char *text) { return RLStringCreateWithCString(NULL, text, kRLStringEncodingUTF8); }

START_TEST(data_is_a_copy_that_compares_by_bytes)
{
    uint8_t bytes[] = {1, 2, 3, 0, 255};
    RLDataRef data = RLDataCreate(NULL, bytes, 5), same = RLDataCreate(NULL, bytes, 5),
              shorter = RLDataCreate(NULL, bytes, 4);
    RLDataRef empty = RLDataCreate(NULL, NULL, 0);
    bytes[0] = 9;
    ck_assert_int_eq(RLDataGetLength(data), 5);
    ck_assert_int_eq(RLDataGetBytePtr(data)[0], 1);
    ck_assert_int_eq(RLDataGetBytePtr(data)[4], 255);
    ck_assert(RLEqual(data, same) && !RLEqual(data, shorter) && !RLEqual(data, empty));
    ck_assert_uint_eq(RLHash(data), RLHash(same));
    ck_assert_int_eq(RLDataGetLength(empty), 0);
    ck_assert_ptr_nonnull(RLDataGetBytePtr(empty));
    uint8_t part[4] = {7, 7, 7, 7};
    RLDataGetBytes(data, (RLRange){1, 3}, part);
    ck_assert(memcmp(part, "\2\3\0\7", 4) == 0);
    RLDataGetBytes(data, (RLRange){5, 0}, NULL);
    RLDataGetBytes(data, (RLRange){0, 0}, part);
    RLRelease(data);
    RLRelease(same);
    RLRelease(shorter);
    RLRelease(empty);
}
END_TEST

START_TEST(arrays_retain_and_compare_values_through_their_callbacks)
{
    RLStringRef one = string("one"), two = string("two"), two_again = string("two");
    const void *values[] = {one, two};
    RLArrayRef objects = RLArrayCreate(NULL, values, 2, &kRLTypeArrayCallBacks),
               pointers = RLArrayCreate(NULL, values, 2, NULL);
    values[0] = NULL;
    ck_assert_int_eq(RLArrayGetCount(objects), 2);
    ck_assert_ptr_eq(RLArrayGetValueAtIndex(objects, 0), one);
    ck_assert_int_eq(RLGetRetainCount(one), 2); /* references of its maker and of the first array */
    ck_assert(RLArrayContainsValue(objects, (RLRange){0, 2}, two_again));
    ck_assert(!RLArrayContainsValue(objects, (RLRange){0, 1}, two_again));
    ck_assert(!RLArrayContainsValue(objects, (RLRange){2, 0}, two_again));
    ck_assert(RLArrayContainsValue(pointers, (RLRange){0, 2}, two));
    ck_assert(!RLArrayContainsValue(pointers, (RLRange){0, 2}, two_again)); /* by identity */
    const void *others[] = {one, two_again};
    RLArrayRef equal = RLArrayCreate(NULL, others, 2, &kRLTypeArrayCallBacks),
               shorter = RLArrayCreate(NULL, others, 1, &kRLTypeArrayCallBacks);
    ck_assert(RLEqual(objects, equal) && !RLEqual(objects, shorter));
    ck_assert_uint_eq(RLHash(objects), RLHash(equal));
    RLRelease(objects);
    RLRelease(equal);
    RLRelease(shorter);
    RLRelease(pointers);
    ck_assert_int_eq(RLGetRetainCount(one), 1);
    RLRelease(one);
    RLRelease(two);
    RLRelease(two_again);
}
END_TEST

static int array_retains, array_releases;
static const void *array_retain(UNUSED RLAllocatorRef allocator, const void *value)
{
    array_retains++;
    return (const char *)value + 1;
}
static void array_release(UNUSED RLAllocatorRef allocator, const void *value)
{
    ck_assert_str_eq(value, "bc");
    array_releases++;
}
static RLBoolean array_equal(const void *one, const void *other) { return strcmp(one, other) == 0; }

START_TEST(arrays_call_the_clients_callbacks)
{
    char text[] = "bc";
    const void *values[] = {"abc", "abc", "abc"};
    RLArrayCallBacks callbacks = {.retain = array_retain, .release = array_release, .equal = array_equal};
    RLArrayRef array = RLArrayCreate(NULL, values, 3, &callbacks);
    memset(&callbacks, 0, sizeof callbacks); /* the array has its own copy */
    ck_assert_int_eq(array_retains, 3);
    ck_assert_str_eq(RLArrayGetValueAtIndex(array, 2), "bc"); /* what retain returned */
    ck_assert(RLArrayContainsValue(array, (RLRange){0, 3}, text));
    RLRelease(array);
    ck_assert_int_eq(array_releases, 3);
}
END_TEST

static RLStringRef describe_info(const void *info) { return string(info); }

START_TEST(descriptions_name_the_type_and_include_that_of_the_context)
{
    RLRunLoopTimerContext context = {.info = "a very special info", .copyDescription = describe_info};
    RLRunLoopTimerRef timer = RLRunLoopTimerCreate(NULL, 0, 0, 0, 0, count_timer, &context);
    RLStringRef description = RLCopyDescription(timer);
    const char *text = RLStringGetCStringPtr(description, kRLStringEncodingUTF8);
    ck_assert_ptr_nonnull(strstr(text, "RLRunLoopTimer"));
    ck_assert_ptr_nonnull(strstr(text, "a very special info"));
    RLRelease(description);
    RLRelease(timer);
}
END_TEST

START_TEST(a_timer_that_is_not_armed_is_described_as_never_due)
{
    RLRunLoopTimerRef never = make_timer(HUGE_VAL, 0, count_timer, NULL);
    RLRunLoopTimerRef waiting = RLRunLoopTimerCreateRearmable(NULL, count_timer, NULL);
    RLRunLoopTimerRef soon = make_timer(RLAbsoluteTimeGetCurrent() + 1000, 0, count_timer, NULL);
    RLRunLoopTimerRef timers[] = {never, waiting, soon};
    for (int i = 0; i < 3; i++) {
        RLStringRef description = RLCopyDescription(timers[i]);
        const char *text = RLStringGetCStringPtr(description, kRLStringEncodingUTF8);
        ck_assert_ptr_nonnull(strstr(text, i < 2 ? "next=never " : "s from now"));
        ck_assert((strstr(text, "s from now") != NULL) == (i == 2));
        RLRelease(description);
        drop_timer(timers[i]);
    }
}
END_TEST

static RLStringRef describe_at_length(const void *info)
{
    char text[1501];
    for (int i = 0; i < 1500; i += 2)
        memcpy(text + i, "\u00e9", 2);
    text[1500] = 0;
    (void)info;
    return string(text);
}

START_TEST(a_description_is_not_truncated_within_a_character)
{
    RLRunLoopSourceContext context = {.copyDescription = describe_at_length};
    for (RLIndex order = 5; order <= 50; order += 45) { /* one digit, then two, so that the text begins a byte later */
        RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, order, &context);
        RLStringRef description = RLCopyDescription(source);
        RLStringRef again = string(RLStringGetCStringPtr(description, kRLStringEncodingUTF8));
        ck_assert_msg(again != NULL, "not UTF-8");
        ck_assert_int_gt(RLStringGetByteCount(description), 900);
        RLRelease(again);
        RLRelease(description);
        RLRelease(source);
    }
}
END_TEST

static int count_of(const char *text, const char *part)
{
    int count = 0;
    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        count++;
    }
    return count;
}

static RLStringRef describe_a_loop_with(int modes, int sources)
{
    RLRunLoopRef loop = RLRunLoopGetCurrent();
    RLRunLoopSourceContext context = {.version = 0};
    for (int mode = 0; mode < modes; mode++) {
        char name[32];
        snprintf(name, sizeof name, "m\u00f6de%d", mode);
        RLStringRef mode_name = string(name);
        for (int i = 0; i < sources; i++) {
            RLRunLoopSourceRef source = RLRunLoopSourceCreate(NULL, i, &context);
            RLRunLoopAddSource(loop, source, mode_name);
            RLRelease(source);
        }
        RLRelease(mode_name);
    }
    return RLCopyDescription(loop);
}

/* A number or an address that is cut off would be a wrong one. */
START_TEST(a_description_of_a_loop_has_whole_items_and_counts_those_omitted)
{
    RLStringRef description = describe_a_loop_with(3, 40);
    const char *text = RLStringGetCStringPtr(description, kRLStringEncodingUTF8), *rest = text;
    int left_out = 0, some;
    ck_assert_int_eq(count_of(text, "(sources=40 timers=0"), 3);
    ck_assert_int_eq(count_of(text, "fd="), 0);
    ck_assert_int_gt(count_of(text, " { version=0 order="), 5);
    ck_assert_int_eq(count_of(text, " callout=0x0 info=0x0}"), count_of(text, "{"));
    while ((rest = strstr(rest, " and ")) != NULL) {
        ck_assert_int_eq(sscanf(rest, " and %d more)", &some), 1);
        left_out += some;
        rest++;
    }
    ck_assert_int_eq(left_out + count_of(text, "{"), 3 * 40);
    ck_assert_str_eq(text + strlen(text) - 2, ")>");
    ck_assert_int_le(strlen(text), 1000);
    RLRelease(description);
}
END_TEST

START_TEST(a_description_of_a_loop_counts_the_modes_omitted)
{
    RLStringRef description = describe_a_loop_with(100, 1);
    const char *text = RLStringGetCStringPtr(description, kRLStringEncodingUTF8), *last = text;
    int left_out = 0;
    for (const char *next = text; next != NULL; next = strstr(next + 1, " and "))
        last = next;
    ck_assert_int_eq(sscanf(last, " and %d more modes>", &left_out), 1);
    ck_assert_int_eq(left_out + count_of(text, " m\u00f6de"), 100);
    ck_assert_str_eq(text + strlen(text) - 7, " modes>");
    RLRelease(description);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values");
    TCase *tcase = add_case(suite, "values", 20);
    tcase_add_test(tcase, a_timer_that_is_not_armed_is_described_as_never_due);
    tcase_add_test(tcase, a_description_of_a_loop_has_whole_items_and_counts_those_omitted);
    tcase_add_test(tcase, a_description_of_a_loop_counts_the_modes_omitted);
    tcase_add_test(tcase, the_version_function_matches_the_header);
    tcase_add_test(tcase, the_clock_counts_from_2001);
    tcase_add_test(tcase, every_kind_of_object_has_its_own_type);
    tcase_add_test(tcase, retain_and_release_are_counted);
    tcase_add_test(tcase, constant_strings_are_immortal);
    tcase_add_test(tcase, reference_counts_are_exact_under_four_threads);
    tcase_add_test(tcase, data_is_a_copy_that_compares_by_bytes);
    tcase_add_test(tcase, arrays_retain_and_compare_values_through_their_callbacks);
    tcase_add_test(tcase, arrays_call_the_clients_callbacks);
    tcase_add_test(tcase, descriptions_name_the_type_and_include_that_of_the_context);
    tcase_add_test(tcase, a_description_is_not_truncated_within_a_character);
    return suite;
}
