/* RLStringCreateWithFormat. In C, because Swift cannot define variadic functions. Each directive is passed to
   vsnprintf with an argument of its type; only %@ is implemented here. */
#include <RunLoop/RunLoop.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *bytes;
    size_t count, room;
    int error; /* the first error; nothing is appended after it */
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

/* Appends one directive, given from the character after the % on. Returns the rest of the format. */
static const char *directive(struct text *text, const char *format, va_list *arguments)
{
    char spec[64] = "%";
    size_t used = 1;
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
    case 'c':
        switch (conversion == 'c' ? 0 : length) {
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
    case 's':
        print(text, spec, va_arg(*arguments, const char *));
        break;
    case 'p':
        print(text, spec, va_arg(*arguments, void *));
        break;
    default:
        text->error = EINVAL;
        return format;
    }
    return format + 1;
}

/* Returns the text of a format string; defined in Exports/RLString.swift. */
extern const char *runloop_format(RLStringRef format, const char *function);

static RLStringRef create(RLAllocatorRef allocator, RLStringRef format, va_list arguments, const char *function)
{
    struct text text = {NULL, 0, 0, 0};
    const char *rest = runloop_format(format, function);
    RLStringRef string = NULL;
    va_list copy; /* has a type whose address can be passed on, whatever va_list is */
    if (rest == NULL)
        return NULL;
    va_copy(copy, arguments);
    while (*rest != 0 && text.error == 0) {
        size_t plain = strcspn(rest, "%");
        append(&text, rest, plain);
        rest += plain;
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
