#define _GNU_SOURCE /* tdestroy */
#include "reference.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node {
    struct Node *next; /* all nodes, in no order */
    Word word;
} Node;

struct Reference {
    uint64_t lines, words, bytes, longest, column, wordLength;
    Node *spare; /* holds the word being read; becomes a tree node if the word is new */
    Node *nodes;
    uint64_t nodeCount;
    void *tree; /* see tsearch(3) */
    bool outOfMemory;
};

Reference *referenceCreate(void)
{
    Reference *reference = calloc(1, sizeof *reference);
    if (reference != NULL && (reference->spare = calloc(1, sizeof(Node))) == NULL) {
        free(reference);
        return NULL;
    }
    return reference;
}

static int compareNodes(const void *left, const void *right)
{
    const Word *a = &((const Node *)left)->word, *b = &((const Node *)right)->word;
    return a->length != b->length ? a->length - b->length : memcmp(a->bytes, b->bytes, a->length);
}

static void rankWord(Reference *reference)
{
    reference->spare->word.length = (unsigned char)reference->wordLength;
    Node **place = tsearch(reference->spare, &reference->tree, compareNodes);
    Node *spare = place == NULL || *place != reference->spare ? reference->spare : calloc(1, sizeof *spare);
    if (place == NULL || spare == NULL) {
        reference->outOfMemory = true;
        return;
    }
    if (spare != reference->spare) {
        reference->spare->next = reference->nodes;
        reference->nodes = reference->spare;
        reference->nodeCount++;
        reference->spare = spare;
    }
    (*place)->word.count++;
}

void referenceAdd(Reference *reference, const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length && !reference->outOfMemory; i++) {
        unsigned char byte = bytes[i];
        reference->bytes++;
        if (strchr(" \t\n\v\f\r", byte) == NULL || byte == 0) {
            if (reference->wordLength < rankedWordLength)
                reference->spare->word.bytes[reference->wordLength] = byte;
            reference->wordLength++;
            reference->column++;
            continue;
        }
        if (reference->wordLength > 0) {
            reference->words++;
            if (reference->wordLength <= rankedWordLength)
                rankWord(reference);
        }
        reference->wordLength = 0;
        reference->column++;
        if (byte == '\n') {
            reference->lines++;
            if (reference->column - 1 > reference->longest)
                reference->longest = reference->column - 1;
            reference->column = 0;
        }
    }
}

void referenceFinish(Reference *reference)
{
    if (reference->column > 0) {
        referenceAdd(reference, (const unsigned char *)"\n", 1); /* adds the missing \n, */
        reference->bytes--;                                      /* which is not part of the input */
    }
}

static bool same(const char *what, uint64_t reference, uint64_t tally)
{
    if (reference != tally)
        fprintf(stderr, "demo: %s: the workers counted %" PRIu64 ", the check counted %" PRIu64 "\n", what, tally,
                reference);
    return reference == tally;
}

bool referenceAgrees(const Reference *reference, const Tally *tally)
{
    if (reference->outOfMemory || tally->outOfMemory) {
        fputs("demo: not enough memory to count every word\n", stderr);
        return false;
    }
    bool agrees = same("lines", reference->lines, tally->counts.lines);
    agrees &= same("words", reference->words, tally->counts.words);
    agrees &= same("bytes", reference->bytes, tally->counts.bytes);
    agrees &= same("longest line", reference->longest, tally->counts.longestLine);
    agrees &= same("distinct words", reference->nodeCount, tally->wordCount);
    for (const Node *node = reference->nodes; node != NULL && agrees; node = node->next)
        agrees =
            same("frequency of a word", node->word.count, tallyFrequency(tally, node->word.bytes, node->word.length));
    return agrees;
}

void referenceDestroy(Reference *reference)
{
    if (reference == NULL)
        return;
    free(reference->spare);
    tdestroy(reference->tree, free);
    free(reference);
}
