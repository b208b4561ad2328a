/* callbacks.c - random operations on an array, a set or a dictionary with callbacks of the program: some of them are NULL,
 * some retain callbacks return another object, and some values are equal without being identical. Prints each object that is
 * retained or released, sorted if the collection has no order, and the contents after each step. */
#include "words.h"

enum { STEPS = 60, VALUES = 12, GENERATIONS = 40 };

/** A value, or a copy that a retain callback has made of it. Two values each have the same key. */
typedef struct {
    int number, key, generation;
} Value;

static Value values[VALUES][GENERATIONS];

static const char *name(const void *pointer)
{
    static char buffers[4][16];
    static unsigned turn;
    char *buffer = buffers[turn++ % 4];
    const Value *value = pointer;
    if (value == NULL)
        return "NULL";
    snprintf(buffer, sizeof buffers[0], "%d.%d", value->number, value->generation);
    return buffer;
}

static const void *keep(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    word("+%s", name(value));
    return value;
}

static const void *copy(CFAllocatorRef allocator, const void *pointer)
{
    const Value *value = pointer;
    (void)allocator;
    word("copy%s", name(value));
    return value == NULL ? NULL : &values[value->number][(value->generation + 1) % GENERATIONS];
}

static void drop(CFAllocatorRef allocator, const void *value)
{
    (void)allocator;
    word("-%s", name(value));
}

static int key(const void *value) { return value == NULL ? -1 : ((const Value *)value)->key; }
static Boolean same(const void *one, const void *two) { return key(one) == key(two); }
static CFHashCode hash(const void *value) { return (CFHashCode)key(value); }
static CFHashCode bad_hash(const void *value) { return (CFHashCode)(key(value) % 2); }
static void visit(const void *value, void *context)
{
    (void)context;
    word("%s", name(value));
}

static void visit_pair(const void *one, const void *two, void *context)
{
    (void)context;
    word("%s=%s", name(one), name(two));
}

/** Chooses callbacks, also for arrays, which have all but `hash`, and for the keys and values of dictionaries. */
static CFSetCallBacks pick_callbacks(void)
{
    CFSetCallBacks callbacks = {0};
    if (pick(4) > 0)
        callbacks.retain = pick(2) ? keep : copy;
    if (pick(4) > 0)
        callbacks.release = drop;
    if (pick(4) > 0)
        callbacks.equal = same;
    if (callbacks.equal != NULL || pick(2))
        callbacks.hash = pick(3) ? hash : bad_hash;
    printf(" callbacks %d%d%d%d",
           callbacks.retain == NULL   ? 0
           : callbacks.retain == keep ? 1
                                      : 2,
           callbacks.release != NULL, callbacks.equal != NULL, callbacks.hash != NULL);
    return callbacks;
}

static const void *pick_value(void) { return pick(9) == 0 ? NULL : &values[pick(VALUES)][0]; }

static void array_step(CFMutableArrayRef array)
{
    CFIndex all = CFArrayGetCount(array), at = (CFIndex)pick((unsigned)all + 1);
    CFRange range = CFRangeMake(at, (CFIndex)pick((unsigned)(all - at) + 1));
    const void *value = pick_value();
    const void *several[3] = {pick_value(), pick_value(), value};
    CFMutableArrayRef other;
    unsigned what = pick(12);
    printf(" arr%u %s at %ld+%ld:", what, name(value), (long)at, (long)range.length);
    switch (what) {
    case 0:
        CFArrayInsertValueAtIndex(array, at, value);
        break;
    case 1:
        CFArraySetValueAtIndex(array, at, value);
        break;
    case 2:
        if (at < all)
            CFArrayRemoveValueAtIndex(array, at);
        break;
    case 3:
        CFArrayReplaceValues(array, range, several, (CFIndex)pick(4));
        break;
    case 4:
        if (all < 20)
            CFArrayAppendArray(array, array, range);
        break;
    case 5:
        if (all > 12)
            CFArrayRemoveAllValues(array);
        break;
    case 6:
        printf(" %ld %ld %ld %d", (long)CFArrayGetFirstIndexOfValue(array, range, value),
               (long)CFArrayGetLastIndexOfValue(array, range, value), (long)CFArrayGetCountOfValue(array, range, value),
               CFArrayContainsValue(array, range, value));
        break;
    case 7:
        CFArrayApplyFunction(array, range, visit, NULL);
        break;
    case 8:
        other = CFArrayCreateMutableCopy(NULL, 0, array);
        CFArrayAppendArray(other, array, range);
        printf(" equal %d", CFEqual(other, array));
        CFRelease(other);
        break;
    default:
        CFArrayAppendValue(array, value);
    }
    print_words(0);
    printf(" |");
    for (CFIndex i = 0; i < CFArrayGetCount(array); i++)
        printf(" %s", name(CFArrayGetValueAtIndex(array, i)));
}

static void set_step(CFMutableSetRef set, CFSetRef constant)
{
    const void *value = pick_value(), *found = NULL;
    CFMutableSetRef other;
    unsigned what = pick(9);
    printf(" set%u %s:", what, name(value));
    switch (what) {
    case 0:
        CFSetSetValue(set, value);
        break;
    case 1:
        CFSetReplaceValue(set, value);
        break;
    case 2:
    case 3:
        CFSetRemoveValue(set, value);
        break;
    case 4:
        printf(" %s %d %d", name(CFSetGetValue(set, value)), CFSetGetValueIfPresent(set, value, &found),
               CFSetContainsValue(set, value));
        printf(" %s %ld", name(found), (long)CFSetGetCountOfValue(set, value));
        break;
    case 5:
        other = CFSetCreateMutableCopy(NULL, 0, set);
        CFSetAddValue(other, value);
        printf(" equal %d %d", CFEqual(other, set), CFEqual(set, constant));
        CFRelease(other);
        break;
    case 6:
        if (CFSetGetCount(set) > 4)
            CFSetRemoveAllValues(set);
        break;
    default:
        CFSetAddValue(set, value);
    }
    print_words(1);
    printf(" |");
    CFSetApplyFunction(set, visit, NULL);
    print_words(1);
}

static void dictionary_step(CFMutableDictionaryRef dictionary, CFDictionaryRef constant)
{
    const void *one = pick_value(), *two = pick_value(), *found = NULL;
    CFMutableDictionaryRef other;
    unsigned what = pick(9);
    printf(" dic%u %s=%s:", what, name(one), name(two));
    switch (what) {
    case 0:
        CFDictionarySetValue(dictionary, one, two);
        break;
    case 1:
        CFDictionaryReplaceValue(dictionary, one, two);
        break;
    case 2:
    case 3:
        CFDictionaryRemoveValue(dictionary, one);
        break;
    case 4:
        printf(" %s %d %d", name(CFDictionaryGetValue(dictionary, one)),
               CFDictionaryGetValueIfPresent(dictionary, one, &found), CFDictionaryContainsKey(dictionary, one));
        printf(" %s %ld %ld %d", name(found), (long)CFDictionaryGetCountOfKey(dictionary, one),
               (long)CFDictionaryGetCountOfValue(dictionary, two), CFDictionaryContainsValue(dictionary, two));
        break;
    case 5:
        other = CFDictionaryCreateMutableCopy(NULL, 0, dictionary);
        CFDictionarySetValue(other, one, two);
        printf(" equal %d %d", CFEqual(other, dictionary), CFEqual(dictionary, constant));
        CFRelease(other);
        break;
    case 6:
        if (CFDictionaryGetCount(dictionary) > 4)
            CFDictionaryRemoveAllValues(dictionary);
        break;
    default:
        CFDictionaryAddValue(dictionary, one, two);
    }
    print_words(1);
    printf(" |");
    CFDictionaryApplyFunction(dictionary, visit_pair, NULL);
    print_words(1);
}

static void script(unsigned long seed)
{
    for (int i = 0; i < VALUES; i++)
        for (int j = 0; j < GENERATIONS; j++)
            values[i][j] = (Value){i, i / 2, j};
    const void *several[5], *others[5];
    for (int i = 0; i < 5; i++) {
        several[i] = pick_value();
        others[i] = pick_value();
    }
    printf("%lu.begin:", seed);
    CFSetCallBacks callbacks = pick_callbacks(), of_values = pick_callbacks();
    CFArrayCallBacks of_array = {0, callbacks.retain, callbacks.release, NULL, callbacks.equal};
    CFDictionaryKeyCallBacks of_keys = {0, callbacks.retain, callbacks.release, NULL, callbacks.equal, callbacks.hash};
    CFDictionaryValueCallBacks of_dictionary = {0, of_values.retain, of_values.release, NULL, of_values.equal};
    unsigned kind = pick(3);
    CFTypeRef collection, constant;
    if (kind == 0) {
        collection = CFArrayCreateMutable(NULL, 0, &of_array);
        constant = CFArrayCreate(NULL, several, 5, &of_array);
    } else if (kind == 1) {
        constant = CFSetCreate(NULL, several, 5, &callbacks);
        collection = CFSetCreateMutableCopy(NULL, 0, constant);
    } else {
        constant = CFDictionaryCreate(NULL, several, others, 5, &of_keys, &of_dictionary);
        collection = CFDictionaryCreateMutableCopy(NULL, 0, constant);
    }
    print_words(kind > 0);
    printf("\n");
    for (int step = 0; step < STEPS; step++) {
        printf("%lu.%d:", seed, step);
        if (kind == 0)
            array_step((CFMutableArrayRef)collection);
        else if (kind == 1)
            set_step((CFMutableSetRef)collection, constant);
        else
            dictionary_step((CFMutableDictionaryRef)collection, constant);
        printf("\n");
    }
    printf("%lu.end:", seed);
    CFRelease(constant);
    CFRelease(collection);
    print_words(kind > 0);
    printf("\n");
}

int main(int argument_count, char **arguments) { return run_scripts(argument_count, arguments, script); }
