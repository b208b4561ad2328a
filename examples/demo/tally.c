#include "tally.h"

#include <stdlib.h>
#include <string.h>

static bool isSpace(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); /* \t \n \v \f \r */ }

/* Returns the word's slot in the table, or the free slot where it belongs. The table always has free slots. */
static Word *findPlace(Word *table, size_t size, const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    for (size_t i = (size_t)(hash ^ (hash >> 32));; i++) {
        Word *word = &table[i & (size - 1)];
        if (word->count == 0 || (word->length == length && memcmp(word->bytes, bytes, length) == 0))
            return word;
    }
}

static bool growTable(Tally *tally)
{
    size_t size = tally->tableSize == 0 ? 1024 : tally->tableSize * 2;
    Word *table = calloc(size, sizeof *table);
    if (table == NULL)
        return false;
    for (size_t i = 0; i < tally->tableSize; i++) {
        const Word *word = &tally->table[i];
        if (word->count > 0)
            *findPlace(table, size, word->bytes, word->length) = *word;
    }
    free(tally->table);
    tally->table = table;
    tally->tableSize = size;
    return true;
}

static void countWord(Tally *tally, const unsigned char *bytes, size_t length, uint64_t count)
{
    if (tally->wordCount >= tally->tableSize / 2 && !growTable(tally)) {
        tally->outOfMemory = true;
        return;
    }
    Word *word = findPlace(tally->table, tally->tableSize, bytes, length);
    if (word->count == 0) {
        tally->wordCount++;
        word->length = (unsigned char)length;
        memcpy(word->bytes, bytes, length);
    }
    word->count += count;
}

static void endWord(Tally *tally)
{
    if (tally->wordLength == 0)
        return;
    tally->counts.words++;
    if (tally->wordLength <= rankedWordLength)
        countWord(tally, tally->word, (size_t)tally->wordLength, 1);
    tally->wordLength = 0;
}

static void endLine(Tally *tally)
{
    endWord(tally);
    tally->counts.lines++;
    if (tally->lineLength > tally->counts.longestLine)
        tally->counts.longestLine = tally->lineLength;
    tally->lineLength = 0;
}

/* Adds a line or a part of one; it contains no \n. */
static void addPiece(Tally *tally, const unsigned char *bytes, size_t length)
{
    tally->lineLength += length;
    for (size_t i = 0; i < length; i++) {
        if (isSpace(bytes[i])) {
            endWord(tally);
        } else {
            if (tally->wordLength < rankedWordLength)
                tally->word[tally->wordLength] = bytes[i];
            tally->wordLength++;
        }
    }
}

void tallyAdd(Tally *tally, const unsigned char *bytes, size_t length)
{
    tally->counts.bytes += length;
    const unsigned char *end = bytes + length;
    while (bytes < end) {
        const unsigned char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        addPiece(tally, bytes, (size_t)((newline != NULL ? newline : end) - bytes));
        if (newline == NULL)
            return;
        endLine(tally);
        bytes = newline + 1;
    }
}

void tallyFinish(Tally *tally)
{
    if (tally->lineLength > 0)
        endLine(tally);
}

void tallyMerge(Tally *tally, const Tally *other)
{
    tally->counts.lines += other->counts.lines;
    tally->counts.words += other->counts.words;
    tally->counts.bytes += other->counts.bytes;
    if (other->counts.longestLine > tally->counts.longestLine)
        tally->counts.longestLine = other->counts.longestLine;
    tally->outOfMemory = tally->outOfMemory || other->outOfMemory;
    for (size_t i = 0; i < other->tableSize; i++) {
        const Word *word = &other->table[i];
        if (word->count > 0)
            countWord(tally, word->bytes, word->length, word->count);
    }
}

uint64_t tallyFrequency(const Tally *tally, const unsigned char *bytes, size_t length)
{
    return tally->tableSize == 0 ? 0 : findPlace(tally->table, tally->tableSize, bytes, length)->count;
}

static bool ranksBefore(const Word *word, const Word *other)
{
    if (word->count != other->count)
        return word->count > other->count;
    size_t shorter = word->length < other->length ? word->length : other->length;
    int order = memcmp(word->bytes, other->bytes, shorter);
    return order != 0 ? order < 0 : word->length < other->length;
}

int tallyTopWords(const Tally *tally, Word *top, int limit)
{
    int count = 0;
    for (size_t i = 0; i < tally->tableSize; i++) {
        const Word *word = &tally->table[i];
        if (word->count == 0 || (count == limit && !ranksBefore(word, &top[limit - 1])))
            continue;
        int place = count < limit ? count++ : limit - 1;
        for (; place > 0 && ranksBefore(word, &top[place - 1]); place--)
            top[place] = top[place - 1];
        top[place] = *word;
    }
    return count;
}

void tallyFree(Tally *tally)
{
    free(tally->table);
    *tally = (Tally){.table = NULL};
}
