/* strings.c - creating strings from a format, testing prefixes and suffixes, and converting strings to bytes. */
#include <RunLoop/RunLoop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(RLStringRef string) { return RLStringGetCStringPtr(string, kRLStringEncodingUTF8); }

/* A variadic function of the program passes its arguments on as a va_list. */
static void say(RLStringRef format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    RLStringRef string = RLStringCreateWithFormatAndArguments(NULL, NULL, format, arguments);
    va_end(arguments);
    if (string != NULL) {
        printf("%s\n", text(string));
        RLRelease(string);
    }
}

int main(void)
{
    RLStringRef name = RLStringCreateWithFormat(NULL, NULL, RLSTR("com.example.%s.%d"), "port", 7);
    if (name == NULL)
        return 1;
    say(RLSTR("%@ has %ld characters"), name, (long)RLStringGetLength(name));
    say(RLSTR("prefix: %s, suffix: %s"), RLStringHasPrefix(name, RLSTR("com.")) ? "yes" : "no",
        RLStringHasSuffix(name, RLSTR(".8")) ? "yes" : "no");
    say(RLSTR("%d and %.2f"), (int)RLStringGetIntValue(RLSTR("42 apples")), RLStringGetDoubleValue(RLSTR("2.5 pears")));

    /* Bytes for another program, without a terminating 0. Each unit that RLStringGetLength counts may need three
     * bytes. */
    RLStringRef place = RLSTR("Z\xC3\xBCrich");
    RLDataRef bytes = RLStringCreateExternalRepresentation(NULL, place, kRLStringEncodingUTF8, 0);
    RLDataRef ascii = RLStringCreateExternalRepresentation(NULL, place, kRLStringEncodingASCII, '?');
    RLStringRef back = RLStringCreateFromExternalRepresentation(NULL, bytes, RLStringGetSystemEncoding());
    say(RLSTR("%ld bytes, at most %ld; %@; in ASCII %.6s"), (long)RLDataGetLength(bytes),
        (long)RLStringGetMaximumSizeForEncoding(RLStringGetLength(place), kRLStringEncodingUTF8), back,
        RLDataGetBytePtr(ascii));

    /* Other encodings, and a part of a string. */
    uint8_t latin[8];
    RLIndex used;
    RLRange part = RLStringFind(place, RLSTR("RICH"), kRLCompareCaseInsensitive);
    RLIndex taken_units = RLStringGetBytes(place, (RLRange){0, part.location}, kRLStringEncodingISOLatin1, 0, 0, latin,
                                           sizeof latin, &used);
    RLStringRef same =
        RLStringCreateWithBytesNoCopy(NULL, latin, used, kRLStringEncodingISOLatin1, 0, kRLAllocatorNull);
    RLArrayRef parts = RLStringCreateArrayBySeparatingStrings(NULL, name, RLSTR("."));
    say(RLSTR("%ld units before it are %ld bytes of Latin 1, %02x %02x, and %@ again; %ld parts of the name"),
        (long)taken_units, (long)used, latin[0], latin[1], same, (long)RLArrayGetCount(parts));
    RLRelease(parts);
    RLRelease(same);

    char *block = malloc(12);
    if (block != NULL)
        memcpy(block, "from malloc", 12);
    RLStringRef taken = RLStringCreateWithCStringNoCopy(NULL, block, kRLStringEncodingUTF8, NULL); /* frees block */
    RLStringRef copy = RLStringCreateCopy(NULL, taken);
    say(RLSTR("%@: %s"), copy, copy == taken ? "a copy is the string itself" : "a copy is another string");
    RLRelease(copy);
    RLRelease(taken);
    RLRelease(back);
    RLRelease(ascii);
    RLRelease(bytes);
    RLRelease(name);
    return 0;
}
