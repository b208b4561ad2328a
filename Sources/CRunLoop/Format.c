/* RLStringCreateWithFormat. In C, because Swift cannot define variadic functions. Each directive is passed to
   vsnprintf with an argument of its type, except those for objects, characters and strings (%@, %c, %C, %s, %S). */
#include <RunLoop/RunLoop.h>

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t count, room;
    int error;     /* the first error; nothing is appended after it */
    uint16_t high; /* the first half of a surrogate pair, passed for a %C, until the next directive; otherwise 0 */
};

static char *make_room(struct text *text, size_t more)
{
    if (text->error == 0 && text->room - text->count < more) {
        size_t room = text->count + more + text->room / 2 + 64;
        char *bytes = realloc(text->bytes, room);
        if (bytes == NULL) {
            text->error = ENOMEM;
        } else {
            text->bytes = bytes;
            text->room = room;
        }
    }
    return text->error == 0 ? text->bytes + text->count : NULL;
}

static void append(struct text *text, const char *bytes, size_t count)
{
    char *destination = make_room(text, count);
    if (destination != NULL)
        memcpy(destination, bytes, count);
    if (destination != NULL)
        text->count += count;
}

static void append_object(struct text *text, RLTypeRef object)
{
    RLStringRef description = object == NULL ? NULL : RLCopyDescription(object);
    if (object == NULL) {
        append(text, "(null)", 6);
    } else if (description == NULL) {
        text->error = errno;
    } else {
        append(text, RLStringGetCStringPtr(description, kRLStringEncodingUTF8),
               (size_t)RLStringGetByteCount(description));
        RLRelease(description);
    }
}

/* Appends a directive with its argument. If the text does not fit into the room, prints once more with enough room. */
static void print(struct text *text, const char *spec, ...)
{
    char *destination;
    size_t room = 64;
    while ((destination = make_room(text, room)) != NULL) {
        va_list argument;
        va_start(argument, spec);
        int size = vsnprintf(destination, room, spec, argument);
        va_end(argument);
        if (size < 0) {
            text->error = errno;
        } else if ((size_t)size < room) {
            text->count += (size_t)size;
            return;
        } else {
            room = (size_t)size + 1;
        }
    }
}

/* Appends characters that are in another encoding. Appends nothing if they are invalid in it. */
static void append_encoded(struct text *text, const void *bytes, size_t count, RLStringEncoding encoding)
{
    RLStringRef string = RLStringCreateWithBytes(NULL, bytes, (RLIndex)count, encoding, 0);
    if (string != NULL) {
        append(text, RLStringGetCStringPtr(string, kRLStringEncodingUTF8), (size_t)RLStringGetByteCount(string));
        RLRelease(string);
    } else if (errno == ENOMEM) {
        text->error = ENOMEM;
    }
}

/* Appends a UTF-16 code unit. One half of a surrogate pair without the other half is left out. */
static void append_unit(struct text *text, uint16_t unit)
{
    uint16_t units[2] = {text->high, unit};
    int ends_pair = text->high != 0 && (unit & 0xFC00) == 0xDC00;
    text->high = (unit & 0xFC00) == 0xD800 ? unit : 0;
    if (text->high == 0)
        append_encoded(text, ends_pair ? units : units + 1, ends_pair ? 4 : 2, kRLStringEncodingUTF16);
}

/* Appends a 0-terminated string with units of 1 byte (UTF-8) or 2 bytes (UTF-16). Width and precision of the directive
   are numbers of units. As in CF, a point without digits is no precision, and of an invalid string only the padding is
   appended. */
static void append_string(struct text *text, const char *spec, const void *string, size_t unit)
{
    const char *point = strchr(spec, '.'), *bytes = string;
    int has_precision = point != NULL && point[1] >= '0' && point[1] <= '9';
    size_t width = strtoul(spec + 1 + strspn(spec + 1, "-+ #'0"), NULL, 10);
    size_t most = has_precision ? strtoul(point + 1, NULL, 10) : SIZE_MAX, count = 0;
    int is_left = strchr(spec, '-') != NULL;
    if (string == NULL) {
        append(text, "(null)", 6);
        return;
    }
    if (width > INT_MAX)
        text->error = EOVERFLOW;
    while (count < most && (bytes[unit * count] != 0 || bytes[unit * count + unit - 1] != 0))
        count++;
    for (size_t i = count; i < width && !is_left && text->error == 0; i++)
        append(text, " ", 1);
    append_encoded(text, bytes, unit * count, unit == 1 ? kRLStringEncodingUTF8 : kRLStringEncodingUTF16);
    for (size_t i = count; i < width && is_left && text->error == 0; i++)
        append(text, " ", 1);
}

/* Appends one directive, given from the character after the % on. Returns the rest of the format. */
static const char *directive(struct text *text, const char *format, va_list *arguments)
{
    char spec[64] = "%";
    size_t used = 1;
    uint16_t units[2] = {0};
    uint16_t high = text->high; /* discarded here unless this directive is the %C of the second half */
    text->high = 0;
    char length = 0; /* h, H (hh), l, L (ll, q), j, z, t or D (long double) */
    for (;; format++) {
        char c = *format;
        if (used > sizeof(spec) - 16) {
            text->error = EINVAL;
            return format;
        }
        if (c == '*') {
            int number = va_arg(*arguments, int);
            if (number < 0 && spec[used - 1] == '.')
                used--; /* as if no precision were given */
            else
                used += (size_t)snprintf(spec + used, 13, "%d", number);
            continue;
        }
        if (c != 0 && strchr("hlqjztL", c) != NULL) {
            if (c == 'q')
                length = 'L';
            else if (c == 'L')
                length = 'D';
            else
                length = length == 'h' && c == 'h' ? 'H' : length == 'l' && c == 'l' ? 'L' : c;
            spec[used++] = c == 'q' ? 'l' : c;
            if (c == 'q')
                spec[used++] = 'l';
            continue;
        }
        if (c == 0 || strchr("0123456789.-+ #'", c) == NULL)
            break;
        spec[used++] = c;
    }
    char conversion = *format == 'D' ? 'd' : *format == 'U' ? 'u' : *format == 'O' ? 'o' : *format; /* as on a Mac */
    spec[used] = conversion;
    switch (conversion) {
    case '%':
        append(text, "%", 1);
        break;
    case '@':
        append_object(text, va_arg(*arguments, RLTypeRef));
        break;
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        switch (length) {
        case 'l':
            print(text, spec, va_arg(*arguments, long));
            break;
        case 'L':
            print(text, spec, va_arg(*arguments, long long));
            break;
        case 'j':
            print(text, spec, va_arg(*arguments, intmax_t));
            break;
        case 'z':
            print(text, spec, va_arg(*arguments, size_t));
            break;
        case 't':
            print(text, spec, va_arg(*arguments, ptrdiff_t));
            break;
        default:
            print(text, spec, va_arg(*arguments, int));
        }
        break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        if (length == 'D')
            print(text, spec, va_arg(*arguments, long double));
        else
            print(text, spec, va_arg(*arguments, double));
        break;
    case 'c':
        if (length != 'l') {
            units[0] = (unsigned char)va_arg(*arguments, int);
            spec[strcspn(spec, ".")] = 0; /* a character has no precision */
            append_string(text, spec, units, 2);
            break;
        }
        /* fall through */
    case 'C':
        text->high = high;
        append_unit(text, (uint16_t)va_arg(*arguments, int));
        break;
    case 's':
        if (length == 'l')
            print(text, spec, va_arg(*arguments, const wchar_t *));
        else
            append_string(text, spec, va_arg(*arguments, const char *), 1);
        break;
    case 'S':
        append_string(text, spec, va_arg(*arguments, const uint16_t *), 2);
        break;
    case 'p':
        print(text, spec, va_arg(*arguments, void *));
        break;
    case 'n':
        (void)va_arg(*arguments, void *);
        break;
    case '$':
        text->error = EINVAL;
        break;
    case 0:
        return format;
    default:
        append(text, format, 1);
    }
    return format + 1;
}

/* Returns the text of a format string; defined in Exports/RLString.swift. */
extern const char *runloop_format(RLStringRef format, const char *function);

static RLStringRef create(RLAllocatorRef allocator, RLStringRef format, va_list arguments, const char *function)
{
    struct text text = {NULL, 0, 0, 0, 0};
    const char *rest = runloop_format(format, function);
    RLStringRef string = NULL;
    va_list copy; /* has a type whose address can be passed on, whatever va_list is */
    if (rest == NULL)
        return NULL;
    va_copy(copy, arguments);
    /* RLStringCreateWithBytes skips one byte-order mark: this one, so that a mark with which the text begins stays in it. */
    append(&text, "\xEF\xBB\xBF", 3);
    while (*rest != 0 && text.error == 0) {
        size_t plain = strcspn(rest, "%");
        append(&text, rest, plain);
        rest += plain;
        if (plain > 0)
            text.high = 0;
        if (*rest == '%')
            rest = directive(&text, rest + 1, &copy);
    }
    va_end(copy);
    if (text.error == 0)
        string = RLStringCreateWithBytes(allocator, (const uint8_t *)text.bytes, (RLIndex)text.count,
                                         kRLStringEncodingUTF8, 0);
    int error = text.error != 0 ? text.error : errno;
    free(text.bytes);
    if (string == NULL)
        errno = error;
    return string;
}

RLStringRef RLStringCreateWithFormatAndArguments(RLAllocatorRef allocator, RLDictionaryRef formatOptions,
                                                 RLStringRef format, va_list arguments)
{
    (void)formatOptions;
    return create(allocator, format, arguments, "RLStringCreateWithFormatAndArguments");
}

RLStringRef RLStringCreateWithFormat(RLAllocatorRef allocator, RLDictionaryRef formatOptions, RLStringRef format, ...)
{
    va_list arguments;
    (void)formatOptions;
    va_start(arguments, format);
    RLStringRef string = create(allocator, format, arguments, "RLStringCreateWithFormat");
    va_end(arguments);
    return string;
}
