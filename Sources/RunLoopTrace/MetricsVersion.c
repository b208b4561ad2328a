/* Checks the versions of the structs that programs pass: see RLTraceMetrics.h. Separate from Histogram.c, which is also part of the command
   `runloop`: that is not linked with librunloop, whose error handler reports the mistakes. */
#include "Metrics.h"

int metricsAreKnown(const RLTraceMetrics *metrics, const char *function, const char *parameter)
{
    if (metrics != NULL && metrics->version == 0)
        return 1;
    RLReportError(function, parameter, metrics == NULL ? "NULL" : "version must be 0", 1);
    return 0;
}

void RLTraceMetricsSubtract(RLTraceMetrics *metrics, const RLTraceMetrics *earlier)
{
    if (metricsAreKnown(metrics, "RLTraceMetricsSubtract", "metrics") &&
        metricsAreKnown(earlier, "RLTraceMetricsSubtract", "earlier"))
        metricsSubtract(metrics, earlier);
}
