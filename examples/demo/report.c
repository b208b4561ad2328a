#include "report.h"

#include <inttypes.h>
#include <stdio.h>

enum { topCount = 5 };

static void printLoop(const LoopRecord *record)
{
    printf(" %9" PRIu64 " %9" PRIu64 " %8.3f s\n", record->passes, record->wakeUps, record->asleep);
}

/* A word can contain any bytes, so only printable ones are printed as they are. */
static void printWord(const Word *word)
{
    for (int i = 0; i < word->length; i++) {
        unsigned char byte = word->bytes[i];
        if (byte > ' ' && byte < 0x7F && byte != '\\')
            putchar(byte);
        else
            printf("\\x%02X", byte);
    }
}

static void printTopWords(const Tally *total)
{
    Word top[topCount];
    int count = tallyTopWords(total, top, topCount);
    printf("distinct words: %zu%s\n", total->wordCount, count > 0 ? "; most frequent:" : "");
    for (int i = 0; i < count; i++) {
        printf("  %8" PRIu64 "  ", top[i].count);
        printWord(&top[i]);
        putchar('\n');
    }
}

void reportSummary(const Worker *workers, int workerCount, const LoopRecord *mainRecord, const Reader *reader,
                   const Tally *total)
{
    printf("%-9s %8s %10s %10s %12s %9s %9s %10s\n", "loop", "batches", "lines", "words", "bytes", "passes", "wake-ups",
           "asleep");
    printf("%-9s %8s %10s %10s %12" PRIu64, "main", "-", "-", "-", reader->bytes);
    printLoop(mainRecord);

    uint64_t batches = 0;
    for (int i = 0; i < workerCount; i++) {
        const Worker *worker = &workers[i];
        const Counts *counts = &worker->tally.counts;
        batches += worker->batches;
        printf("worker %-2d %8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64, worker->number, worker->batches,
               counts->lines, counts->words, counts->bytes);
        printLoop(&worker->record);
    }
    printf("%-9s %8" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64 "\n\n", "total", batches, total->counts.lines,
           total->counts.words, total->counts.bytes);
    printf("longest line: %" PRIu64 " bytes\n", total->counts.longestLine);
    printTopWords(total);

    printf("\nback-pressure: main paused reading %" PRIu64 " time%s because a worker was full\n", reader->pauses,
           reader->pauses == 1 ? "" : "s");
    printf("memory: at most %d batches of %d KB exist at the same time\n", workerCount * (workerBatchLimit + 1) + 1,
           batchCapacity / 1024);
}
