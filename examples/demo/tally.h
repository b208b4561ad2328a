/* tally.h - counts lines, words and bytes, and how often each word occurs. Nothing about run loops here. */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line ends with \n, or with the input if something follows the last \n. A word is a run of bytes other than space,
 * \t, \n, \v, \f and \r. Words longer than this are counted, but not ranked. */
enum { rankedWordLength = 32 };

typedef struct Counts {
    uint64_t lines, words, bytes;
    uint64_t longestLine; /* in bytes, without its \n */
} Counts;

typedef struct Word {
    uint64_t count; /* 0: a free place in the table */
    unsigned char length;
    unsigned char bytes[rankedWordLength];
} Word;

/* All zero is an empty tally. */
typedef struct Tally {
    Counts counts;
    bool outOfMemory; /* some words are missing in the table */

    uint64_t lineLength; /* of the line that has begun */
    uint64_t wordLength; /* of the word that has begun; 0 between words */
    unsigned char word[rankedWordLength];

    Word *table; /* open addressing; the size is a power of two */
    size_t tableSize, wordCount;
} Tally;

/* Counts the next bytes of the input; they may begin and end anywhere in a line. */
void tallyAdd(Tally *tally, const unsigned char *bytes, size_t length);
/* The input is over: counts a last line that has no \n. */
void tallyFinish(Tally *tally);
/* Adds one finished tally to another. */
void tallyMerge(Tally *tally, const Tally *other);
/* How often a word occurred. */
uint64_t tallyFrequency(const Tally *tally, const unsigned char *bytes, size_t length);
/* The most frequent words, best first, equals in the order of their bytes. Returns how many there are, up to limit. */
int tallyTopWords(const Tally *tally, Word *top, int limit);
void tallyFree(Tally *tally);

#endif
