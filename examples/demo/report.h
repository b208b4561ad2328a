/* report.h - prints the final summary. */
#ifndef REPORT_H
#define REPORT_H

#include "reader.h"
#include "record.h"
#include "worker.h"

/* Prints to stdout; the caller checks whether that succeeded. */
void reportSummary(const Worker *workers, int workerCount, const LoopRecord *mainRecord, const Reader *reader,
                   const Tally *total);

#endif
