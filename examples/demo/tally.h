/* tally.h - counts lines, words and bytes, and how often each word occurs. It does not use run loops. */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line ends with \n, or at the end of the input if anything follows the last \n. A word is a run of bytes other
 * than space, \t, \n, \v, \f and \r. Words longer than this are counted, but not ranked. */
enum { rankedWordLength = 32 };

typedef struct Counts {
    uint64_t lines, words, bytes;
    uint64_t longestLine; /* in bytes, without its \n */
} Counts;

typedef struct Word {
    uint64_t count; /* 0: a free slot in the table */
    unsigned char length;
    unsigned char bytes[rankedWordLength];
} Word;

/* A zeroed struct is an empty tally. */
typedef struct Tally {
    Counts counts;
    bool outOfMemory; /* some words are missing from the table */

    uint64_t lineLength; /* of the current line */
    uint64_t wordLength; /* of the current word; 0 between words */
    unsigned char word[rankedWordLength];

    Word *table; /* open addressing; the size is a power of two */
    size_t tableSize, wordCount;
} Tally;

/* Counts the next bytes of the input. They may begin and end anywhere in a line. */
void tallyAdd(Tally *tally, const unsigned char *bytes, size_t length);
/* Ends the input: counts a last line without \n. */
void tallyFinish(Tally *tally);
/* Adds one finished tally to another. */
void tallyMerge(Tally *tally, const Tally *other);
/* Returns how often a word occurred. */
uint64_t tallyFrequency(const Tally *tally, const unsigned char *bytes, size_t length);
/* Finds the most frequent words, most frequent first, ties in byte order. Returns their number, at most limit. */
int tallyTopWords(const Tally *tally, Word *top, int limit);
void tallyFree(Tally *tally);

#endif
