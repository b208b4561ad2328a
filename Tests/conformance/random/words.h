/* words.h - what happened in a step of a script, recorded as words and printed afterwards, sorted where the order is open. */
#ifndef WORDS_H
#define WORDS_H

#include "random.h"

#include <stdarg.h>

static char words[400][24];
static int count;

__attribute__((format(printf, 1, 2))) static void word(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (count < (int)(sizeof words / sizeof *words))
        vsnprintf(words[count++], sizeof words[0], format, arguments);
    va_end(arguments);
}

static int by_text(const void *one, const void *two) { return strcmp(one, two); }

/** Prints and removes the words that were recorded. */
static void print_words(int is_sorted)
{
    if (is_sorted)
        qsort(words, (size_t)count, sizeof words[0], by_text);
    for (int i = 0; i < count; i++)
        printf(" %s", words[i]);
    count = 0;
}

#endif
