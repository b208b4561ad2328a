/* Checks mutable arrays, sets and dictionaries: what any client sees, and that misuse is reported. Tests/conformance compares
 * them with CF's; RunLoopCoreTests checks them after long series of changes. */
#include "harness.h"

static RLMutableArrayRef make_array(const char *const *words)
{
    RLMutableArrayRef array = RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks);
    for (; *words != NULL; words++)
        RLArrayAppendValue(array, RLStringMakeConstant(*words));
    return array;
}

#define ARRAY(...) make_array((const char *const[]){__VA_ARGS__, NULL})

static void assert_words(RLArrayRef array, const char *expected)
{
    char words[256] = "";
    for (RLIndex i = 0; i < RLArrayGetCount(array); i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s ",
                 RLStringGetCStringPtr(RLArrayGetValueAtIndex(array, i), kRLStringEncodingUTF8));
    ck_assert_str_eq(words, expected);
}

START_TEST(a_mutable_array_can_be_changed)
{
    RLMutableArrayRef array = ARRAY("a", "b", "c", "d");
    RLArrayInsertValueAtIndex(array, 4, RLSTR("e"));
    RLArraySetValueAtIndex(array, 0, RLSTR("A"));
    RLArrayRemoveValueAtIndex(array, 1);
    assert_words(array, "A c d e ");
    RLArrayExchangeValuesAtIndices(array, 0, 3);
    RLArrayAppendArray(array, array, (RLRange){0, 2});
    assert_words(array, "e c d A e c ");
    const void *two[] = {RLSTR("x"), RLSTR("y")};
    RLArrayReplaceValues(array, (RLRange){1, 4}, two, 2);
    assert_words(array, "e x y c ");
    const void *got[2];
    RLArrayGetValues(array, (RLRange){1, 2}, got);
    ck_assert(got[0] == two[0] && got[1] == two[1]);
    RLArrayRemoveAllValues(array);
    ck_assert_int_eq(RLArrayGetCount(array), 0);
    RLRelease(array);
}
END_TEST

START_TEST(an_immutable_array_is_its_own_copy)
{
    RLMutableArrayRef array = ARRAY("a", "b");
    RLArrayRef copy = RLArrayCreateCopy(NULL, array), again = RLArrayCreateCopy(NULL, copy);
    RLMutableArrayRef changed = RLArrayCreateMutableCopy(NULL, 100, copy);
    ck_assert(copy != array && again == copy && RLEqual(copy, array) && RLHash(copy) == RLHash(array));
    RLArrayAppendValue(changed, RLSTR("c"));
    ck_assert(!RLEqual(changed, copy));
    assert_words(copy, "a b ");
    RLRelease(again);
    RLRelease(copy);
    RLRelease(changed);
    RLRelease(array);
}
END_TEST

START_TEST(modes_may_be_passed_in_an_array_that_changes_later)
{
    RLMutableArrayRef modes = RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks);
    atomic_int performed = 0;
    RLStringRef mode = RLStringCreateWithCString(NULL, "a mode that nobody else holds", kRLStringEncodingUTF8);
    RLArrayAppendValue(modes, mode);
    ck_assert(RLRunLoopPerformFunction(RLRunLoopGetCurrent(), modes, count_perform, &performed));
    ck_assert(RLRunLoopPerformFunctionAfterDelay(RLRunLoopGetCurrent(), modes, count_perform, &performed, 0));
    RLArrayRemoveAllValues(modes);
    RLArrayAppendValue(modes, kRLRunLoopDefaultMode);
    RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 0);
    ck_assert_int_eq(performed, 0);
    RLRunLoopRunInMode(mode, 0, 0);
    ck_assert_int_eq(performed, 2);
    RLRelease(mode);
    RLRelease(modes);
}
END_TEST

START_TEST(modes_may_be_passed_in_an_array_that_does_not_retain_them)
{
    RLRunLoopRef rl = RLRunLoopGetCurrent();
    atomic_int performed = 0;
    RLStringRef others[2];
    for (int is_mutable = 0; is_mutable < 2; is_mutable++) {
        RLStringRef mode = RLStringCreateWithCString(NULL, "a mode of its own", kRLStringEncodingUTF8);
        const void *values[] = {mode};
        RLArrayRef modes = RLArrayCreate(NULL, values, 1, NULL);
        RLMutableArrayRef changing = RLArrayCreateMutableCopy(NULL, 0, modes);
        ck_assert(RLRunLoopPerformFunction(rl, is_mutable ? changing : modes, count_perform, &performed));
        RLRelease(modes);
        RLRelease(changing);
        RLRelease(mode);
        others[is_mutable] = RLStringCreateWithCString(NULL, "what comes after.", kRLStringEncodingUTF8);
    }
    RLRunLoopRunInMode(RLSTR("a mode of its own"), 0, 0);
    ck_assert_int_eq(performed, 2);
    RLRelease(others[0]);
    RLRelease(others[1]);
}
END_TEST

static RLComparisonResult by_text(const void *one, const void *other, void *context)
{
    ++*(int *)context;
    return RLStringCompare(one, other, 0);
}

static void count_value(const void *value, void *context)
{
    (void)value;
    ++*(int *)context;
}

START_TEST(an_array_is_sorted_and_searched)
{
    RLMutableArrayRef array = ARRAY("d", "b", "e", "a", "c");
    int calls = 0, applied = 0;
    RLArraySortValues(array, (RLRange){0, 5}, by_text, &calls);
    assert_words(array, "a b c d e ");
    ck_assert_int_gt(calls, 3);
    ck_assert_int_eq(RLArrayBSearchValues(array, (RLRange){0, 5}, RLSTR("d"), by_text, &calls), 3);
    ck_assert_int_eq(RLArrayBSearchValues(array, (RLRange){0, 5}, RLSTR("z"), by_text, &calls), 5);
    ck_assert_int_eq(RLArrayGetFirstIndexOfValue(array, (RLRange){1, 4}, RLSTR("a")), -1);
    ck_assert_int_eq(RLArrayGetLastIndexOfValue(array, (RLRange){0, 5}, RLSTR("c")), 2);
    ck_assert_int_eq(RLArrayGetCountOfValue(array, (RLRange){0, 5}, RLSTR("c")), 1);
    RLArrayApplyFunction(array, (RLRange){1, 3}, count_value, &applied);
    ck_assert_int_eq(applied, 3);
    RLRelease(array);
}
END_TEST

START_TEST(a_set_has_each_value_once)
{
    const void *values[] = {RLSTR("a"), RLSTR("b"), RLSTR("a")};
    RLSetRef set = RLSetCreate(NULL, values, 3, &kRLTypeSetCallBacks);
    RLMutableSetRef other = RLSetCreateMutable(NULL, 0, &kRLCopyStringSetCallBacks);
    RLSetSetValue(other, RLSTR("b"));
    RLSetAddValue(other, RLSTR("a"));
    RLSetReplaceValue(other, RLSTR("c"));
    ck_assert_int_eq(RLSetGetCount(set), 2);
    ck_assert(RLEqual(set, other) && RLHash(set) == RLHash(other));
    const void *found = NULL, *all[2];
    ck_assert(RLSetGetValueIfPresent(set, RLSTR("a"), &found) && found == values[0]);
    ck_assert(RLSetContainsValue(set, found) && RLSetGetCountOfValue(set, found) == 1 &&
              RLSetGetValue(set, found) == found);
    RLSetGetValues(set, all);
    ck_assert(all[0] != all[1]);
    int applied = 0;
    RLSetApplyFunction(set, count_value, &applied);
    ck_assert_int_eq(applied, 2);
    RLSetRef copy = RLSetCreateCopy(NULL, set);
    RLMutableSetRef third = RLSetCreateMutableCopy(NULL, 0, set);
    ck_assert_ptr_eq(copy, set);
    RLSetRemoveValue(third, RLSTR("a"));
    ck_assert(!RLEqual(third, set));
    RLSetRemoveAllValues(third);
    ck_assert_int_eq(RLSetGetCount(third), 0);
    RLRelease(copy);
    RLRelease(third);
    RLRelease(other);
    RLRelease(set);
}
END_TEST

static void add_up(const void *key, const void *value, void *context)
{
    *(long *)context += (long)key * 1000 + (long)value;
}

START_TEST(a_dictionary_holds_a_hundred_thousand_entries)
{
    RLMutableDictionaryRef dictionary = RLDictionaryCreateMutable(NULL, 0, NULL, NULL);
    for (long i = 0; i < SCALED(100000); i++)
        RLDictionarySetValue(dictionary, (const void *)i, (const void *)(i * 3));
    for (long i = 0; i < SCALED(100000); i += 2)
        RLDictionaryRemoveValue(dictionary, (const void *)i);
    ck_assert_int_eq(RLDictionaryGetCount(dictionary), SCALED(100000) / 2);
    for (long i = 0; i < SCALED(100000); i++)
        require(RLDictionaryGetValue(dictionary, (const void *)i) == (i % 2 ? (const void *)(i * 3) : NULL));
    RLDictionaryRemoveAllValues(dictionary);
    RLDictionaryAddValue(dictionary, (const void *)4L, (const void *)2L);
    RLDictionaryAddValue(dictionary, (const void *)4L, (const void *)3L);
    RLDictionaryAddValue(dictionary, NULL, (const void *)7L);
    RLDictionaryReplaceValue(dictionary, NULL, (const void *)8L);
    long sum = 0;
    RLDictionaryApplyFunction(dictionary, add_up, &sum);
    ck_assert_int_eq(sum, 4000 + 2 + 8);
    ck_assert(RLDictionaryContainsKey(dictionary, NULL) && RLDictionaryGetCountOfKey(dictionary, NULL) == 1);
    ck_assert(RLDictionaryContainsValue(dictionary, (const void *)8L));
    ck_assert_int_eq(RLDictionaryGetCountOfValue(dictionary, (const void *)9L), 0);
    RLRelease(dictionary);
}
END_TEST

START_TEST(a_dictionary_is_copied_and_compared)
{
    const void *keys[] = {RLSTR("a"), RLSTR("b")}, *values[] = {kRLBooleanTrue, kRLBooleanFalse};
    RLDictionaryRef one =
        RLDictionaryCreate(NULL, keys, values, 2, &kRLTypeDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks);
    RLMutableDictionaryRef two = RLDictionaryCreateMutableCopy(NULL, 0, one);
    RLDictionaryRef three = RLDictionaryCreateCopy(NULL, two);
    ck_assert(RLEqual(one, two) && RLEqual(two, three) && RLHash(one) == RLHash(three));
    RLDictionarySetValue(two, keys[0], kRLBooleanFalse);
    ck_assert(!RLEqual(one, two) && RLEqual(one, three));
    const void *found, *got_keys[2], *got_values[2];
    ck_assert(RLDictionaryGetValueIfPresent(two, RLSTR("a"), &found) && found == kRLBooleanFalse);
    RLDictionaryGetKeysAndValues(one, got_keys, got_values);
    for (int i = 0; i < 2; i++)
        ck_assert(RLDictionaryGetValue(one, got_keys[i]) == got_values[i]);
    RLRelease(one);
    RLRelease(two);
    RLRelease(three);
}
END_TEST

/* A client must not do this in a callback, but nothing except the contents may suffer. */
static RLMutableSetRef changing_set;
static RLBoolean change_set(const void *one, const void *other)
{
    (void)one, (void)other;
    RLSetRemoveAllValues(changing_set);
    return 0;
}
static RLHashCode same_hash(const void *value UNUSED) { return 1; }

START_TEST(callbacks_may_change_their_set)
{
    RLSetCallBacks callbacks = {.equal = change_set, .hash = same_hash};
    changing_set = RLSetCreateMutable(NULL, 0, &callbacks);
    for (long i = 1; i < 100; i++)
        RLSetAddValue(changing_set, (const void *)i);
    ck_assert(!RLSetContainsValue(changing_set, (const void *)1000L));
    RLRelease(changing_set);
}
END_TEST

static RLMutableArrayRef changing_array;
static bool is_changing;
static const void *grow_and_retain(RLAllocatorRef allocator, const void *value)
{
    (void)allocator;
    if (is_changing) {
        is_changing = false;
        for (int i = 0; i < 1000; i++)
            RLArrayAppendValue(changing_array, value);
    }
    return value;
}

/* What is copied is read from memory that the callback frees. */
START_TEST(callbacks_may_change_the_array_that_is_being_copied)
{
    const RLArrayCallBacks callbacks = {.retain = grow_and_retain};
    const void *values[] = {"a", "b", "c"};
    for (int way = 0; way < 4; way++) {
        RLMutableArrayRef copy = NULL;
        changing_array = RLArrayCreateMutable(NULL, 0, &callbacks);
        RLArrayReplaceValues(changing_array, (RLRange){0, 0}, values, 3);
        is_changing = true;
        if (way == 0)
            copy = (RLMutableArrayRef)RLArrayCreateCopy(NULL, changing_array);
        else if (way == 1)
            copy = RLArrayCreateMutableCopy(NULL, 0, changing_array);
        else
            RLArrayAppendArray(way == 2 ? changing_array : (copy = RLArrayCreateMutable(NULL, 0, &callbacks)),
                               changing_array, (RLRange){0, 3});
        ck_assert(!is_changing);
        ck_assert_int_ge(RLArrayGetCount(changing_array), 1003);
        for (int i = 0; copy != NULL && i < 3; i++)
            ck_assert_ptr_eq(RLArrayGetValueAtIndex(copy, i), values[i]);
        if (copy != NULL)
            RLRelease(copy);
        RLRelease(changing_array);
    }
}
END_TEST

static int releases[4];
static void count_and_remove(RLAllocatorRef allocator, const void *value)
{
    (void)allocator;
    releases[(intptr_t)value]++;
    RLArrayRemoveValueAtIndex(changing_array, 0);
    assert_misuse("RLArrayRemoveValueAtIndex", "array", "being freed");
}

START_TEST(an_array_cannot_be_changed_while_it_is_freed)
{
    const RLArrayCallBacks callbacks = {.release = count_and_remove};
    changing_array = RLArrayCreateMutable(NULL, 0, &callbacks);
    for (intptr_t i = 0; i < 4; i++)
        RLArrayAppendValue(changing_array, (const void *)i);
    RLRelease(changing_array);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(releases[i], 1);
}
END_TEST

START_TEST(changing_an_immutable_collection_is_reported)
{
    RLMutableArrayRef array = (RLMutableArrayRef)RLArrayCreate(NULL, NULL, 0, NULL);
    RLMutableSetRef set = (RLMutableSetRef)RLSetCreate(NULL, NULL, 0, NULL);
    RLMutableDictionaryRef dictionary = (RLMutableDictionaryRef)RLDictionaryCreate(NULL, NULL, NULL, 0, NULL, NULL);
    RLArrayAppendValue(array, "x");
    assert_misuse("RLArrayAppendValue", "array", "not mutable");
    RLSetAddValue(set, "x");
    assert_misuse("RLSetAddValue", "set", "not mutable");
    RLDictionarySetValue(dictionary, "x", "y");
    assert_misuse("RLDictionarySetValue", "dictionary", "not mutable");
    RLSetRemoveAllValues((RLMutableSetRef)dictionary);
    assert_misuse("RLSetRemoveAllValues", "set", "expected RLSet, got RLDictionary");
    ck_assert_int_eq(RLArrayGetCount(array) + RLSetGetCount(set) + RLDictionaryGetCount(dictionary), 0);
    RLRelease(array);
    RLRelease(set);
    RLRelease(dictionary);
}
END_TEST

START_TEST(positions_out_of_bounds_are_reported)
{
    RLMutableArrayRef array = ARRAY("a", "b");
    RLArrayInsertValueAtIndex(array, 3, RLSTR("x"));
    assert_misuse("RLArrayInsertValueAtIndex", "index", "out of bounds");
    RLArraySetValueAtIndex(array, -1, RLSTR("x"));
    assert_misuse("RLArraySetValueAtIndex", "index", "out of bounds");
    RLArrayRemoveValueAtIndex(array, 2);
    assert_misuse("RLArrayRemoveValueAtIndex", "index", "out of bounds");
    RLArrayExchangeValuesAtIndices(array, 0, 2);
    assert_misuse("RLArrayExchangeValuesAtIndices", "index2", "out of bounds");
    RLArrayReplaceValues(array, (RLRange){1, 2}, NULL, 0);
    assert_misuse("RLArrayReplaceValues", "range", "out of bounds");
    RLArrayReplaceValues(array, (RLRange){0, 0}, NULL, 1);
    assert_misuse("RLArrayReplaceValues", "newValues", "expected values, got NULL");
    RLArrayAppendArray(array, array, (RLRange){0, 3});
    assert_misuse("RLArrayAppendArray", "otherRange", "out of bounds");
    RLArraySortValues(array, (RLRange){0, 2}, NULL, NULL);
    assert_misuse("RLArraySortValues", "comparator", "NULL");
    RLArrayApplyFunction(array, (RLRange){0, 2}, NULL, NULL);
    assert_misuse("RLArrayApplyFunction", "applier", "NULL");
    assert_words(array, "a b ");
    RLRelease(array);
}
END_TEST

START_TEST(collections_that_cannot_be_created_are_null)
{
    RLSetCallBacks of_version_1 = {.version = 1};
    RLDictionaryValueCallBacks values_of_version_2 = {.version = 2};
    ck_assert_ptr_null(RLArrayCreateMutable(NULL, -1, NULL));
    assert_misuse("RLArrayCreateMutable", "capacity", "negative");
    ck_assert_ptr_null(RLSetCreateMutable(NULL, 0, &of_version_1));
    assert_misuse("RLSetCreateMutable", "callBacks", "version must be 0");
    ck_assert_ptr_null(RLSetCreate(NULL, NULL, 1, NULL));
    assert_misuse("RLSetCreate", "values", "expected values, got NULL");
    ck_assert_ptr_null(RLDictionaryCreateMutable(NULL, 0, NULL, &values_of_version_2));
    assert_misuse("RLDictionaryCreateMutable", "valueCallBacks", "version must be 0");
    ck_assert_ptr_null(RLDictionaryCreate(NULL, NULL, NULL, -1, NULL, NULL));
    assert_misuse("RLDictionaryCreate", "count", "negative");
    errno = 0;
    ck_assert_ptr_null(RLDictionaryCreateMutable(NULL, INT64_MAX / 2, NULL, NULL));
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_ptr_null(RLArrayCreateMutable(NULL, INT64_MAX / 2, NULL));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

Suite *suite_under_test(void)
{
    Suite *suite = suite_create("values-collections");
    TCase *behaviour = add_case(suite, "behavior", 20);
    tcase_add_test(behaviour, a_mutable_array_can_be_changed);
    tcase_add_test(behaviour, an_immutable_array_is_its_own_copy);
    tcase_add_test(behaviour, modes_may_be_passed_in_an_array_that_changes_later);
    tcase_add_test(behaviour, modes_may_be_passed_in_an_array_that_does_not_retain_them);
    tcase_add_test(behaviour, an_array_is_sorted_and_searched);
    tcase_add_test(behaviour, a_set_has_each_value_once);
    tcase_add_test(behaviour, a_dictionary_holds_a_hundred_thousand_entries);
    tcase_add_test(behaviour, a_dictionary_is_copied_and_compared);
    tcase_add_test(behaviour, callbacks_may_change_their_set);
    tcase_add_test(behaviour, callbacks_may_change_the_array_that_is_being_copied);
    tcase_add_test(behaviour, an_array_cannot_be_changed_while_it_is_freed);
    TCase *mistakes = add_case(suite, "misuse", 10);
    tcase_add_test(mistakes, changing_an_immutable_collection_is_reported);
    tcase_add_test(mistakes, positions_out_of_bounds_are_reported);
    tcase_add_test(mistakes, collections_that_cannot_be_created_are_null);
    return suite;
}
