/* collections.c - mutable arrays and dictionaries. For sets and the objects that collections contain, see objects.c.
 *
 * A small shop: what is on the shelf, what it costs, and in which order it was sold. The collections retain their
 * values, because they are created with the callbacks for objects. So each function releases what it has created. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <string.h>

static const char *text(RLTypeRef string) { return RLStringGetCStringPtr(string, kRLStringEncodingUTF8); }

static RLNumberRef number(int value) { return RLNumberCreate(NULL, kRLNumberIntType, &value); }

static int value_of(RLTypeRef number)
{
    int value = 0;
    RLNumberGetValue(number, kRLNumberIntType, &value);
    return value;
}

static void add_price(const void *key, const void *value, void *context)
{
    (void)key;
    *(int *)context += value_of(value);
}

static void print_word(const void *value, void *context)
{
    (void)context;
    printf(" %s", text(value));
}

static RLComparisonResult by_text(const void *one, const void *other, void *context)
{
    (void)context;
    return RLStringCompare(one, other, 0);
}

static RLDictionaryRef prices(void)
{
    RLMutableDictionaryRef shelf =
        RLDictionaryCreateMutable(NULL, 0, &kRLCopyStringDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks);
    const char *const names[] = {"tea", "bread", "salt", "milk"};
    const int cents[] = {450, 320, 95, 130};
    for (int i = 0; i < 4; i++) {
        RLStringRef name = RLStringCreateWithCString(NULL, names[i], kRLStringEncodingUTF8);
        RLNumberRef price = number(cents[i]);
        RLDictionaryAddValue(shelf, name, price);
        RLRelease(name);
        RLRelease(price);
    }
    RLNumberRef dearer = number(99), none = number(0);
    RLDictionarySetValue(shelf, RLSTR("salt"), dearer);
    RLDictionaryReplaceValue(shelf, RLSTR("pepper"), none); /* no such key: nothing happens */
    RLDictionaryRemoveValue(shelf, RLSTR("milk"));
    int sum = 0;
    RLDictionaryApplyFunction(shelf, add_price, &sum);
    printf("%ld things on the shelf, %d cents together\n", (long)RLDictionaryGetCount(shelf), sum);

    const void *price;
    if (RLDictionaryGetValueIfPresent(shelf, RLSTR("tea"), &price))
        printf("tea costs %d, salt %d\n", value_of(price), value_of(RLDictionaryGetValue(shelf, RLSTR("salt"))));
    printf("%s, %s\n", RLDictionaryContainsKey(shelf, RLSTR("milk")) ? "milk" : "no milk",
           RLDictionaryContainsValue(shelf, dearer) ? "something for 99" : "nothing for 99");
    RLDictionaryRef frozen = RLDictionaryCreateCopy(NULL, shelf);
    RLDictionaryRemoveAllValues(shelf);
    printf("a copy still has %ld things; %ld of them cost 0\n", (long)RLDictionaryGetCount(frozen),
           (long)RLDictionaryGetCountOfValue(frozen, none));
    RLRelease(dearer);
    RLRelease(none);
    RLRelease(shelf);
    return frozen;
}

static void sales(RLDictionaryRef shelf)
{
    const void *keys[3], *values[3];
    RLDictionaryGetKeysAndValues(shelf, keys, values);
    RLMutableArrayRef sold = RLArrayCreateMutable(NULL, 0, &kRLTypeArrayCallBacks);
    for (int i = 0; i < 3; i++)
        RLArrayAppendValue(sold, keys[i]);
    RLArraySortValues(sold, (RLRange){0, 3}, by_text, NULL);
    printf("sold:");
    RLArrayApplyFunction(sold, (RLRange){0, 3}, print_word, NULL);
    printf("; salt would be number %ld\n",
           (long)RLArrayBSearchValues(sold, (RLRange){0, 3}, RLSTR("salt"), by_text, NULL) + 1);
    RLArrayInsertValueAtIndex(sold, 0, RLSTR("tea"));
    RLArraySetValueAtIndex(sold, 1, RLSTR("tea"));
    RLArrayExchangeValuesAtIndices(sold, 0, 2);
    RLArrayAppendArray(sold, sold, (RLRange){0, 2});
    RLArrayRemoveValueAtIndex(sold, 1);
    const void *more[] = {RLSTR("bread"), RLSTR("bread")};
    RLArrayReplaceValues(sold, (RLRange){0, 1}, more, 2);
    RLIndex all = RLArrayGetCount(sold);
    printf("then:");
    RLArrayApplyFunction(sold, (RLRange){0, all}, print_word, NULL);
    printf("; tea %ld times, first at %ld, last at %ld\n",
           (long)RLArrayGetCountOfValue(sold, (RLRange){0, all}, RLSTR("tea")),
           (long)RLArrayGetFirstIndexOfValue(sold, (RLRange){0, all}, RLSTR("tea")),
           (long)RLArrayGetLastIndexOfValue(sold, (RLRange){0, all}, RLSTR("tea")));
    RLArrayRef record = RLArrayCreateCopy(NULL, sold);
    RLMutableArrayRef draft = RLArrayCreateMutableCopy(NULL, 0, record);
    const void *first[2];
    RLArrayGetValues(draft, (RLRange){0, 2}, first);
    RLArrayRemoveAllValues(draft);
    printf("the record begins with %s and %s, the draft is %s\n", text(first[0]), text(first[1]),
           RLArrayGetCount(draft) == 0 ? "empty" : "not empty");

    RLRelease(draft);
    RLRelease(record);
    RLRelease(sold);
}

int main(void)
{
    RLDictionaryRef shelf = prices();
    sales(shelf);
    const void *key = RLSTR("tea"), *nothing = RLDictionaryGetValue(shelf, key);
    RLDictionaryRef single =
        RLDictionaryCreate(NULL, &key, &nothing, 1, &kRLTypeDictionaryKeyCallBacks, &kRLTypeDictionaryValueCallBacks);
    RLMutableDictionaryRef both = RLDictionaryCreateMutableCopy(NULL, 0, single);
    printf("only tea: %ld, equal to its copy: %s\n", (long)RLDictionaryGetCountOfKey(single, key),
           RLEqual(single, both) ? "yes" : "no");
    RLRelease(both);
    RLRelease(single);
    RLRelease(shelf);
    return 0;
}
