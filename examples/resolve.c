/* resolve.c - looking up host addresses without blocking the loop; and a time limit that expires because earlier
 * work occupies the only thread.
 *
 * Compile with -lrunloop-kit -lrunloop. */
#define _POSIX_C_SOURCE 200809L /* getaddrinfo's hints, inet_ntop */
#include <RunLoopKit/RunLoopKit.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>

typedef struct Query {
    const char *name;
    int error;
    long count; /* of addresses */
} Query;

static void resolved(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info)
{
    Query *query = info;
    (void)resolve;
    query->error = error;
    if (addresses == NULL) {
        printf("  %s: %s\n", query->name, error == kRLHostResolveTimedOut ? "timed out" : "unknown");
        return;
    }
    query->count = RLArrayGetCount(addresses);
    for (RLIndex i = 0; i < query->count; i++) {
        /* RLSocketConnectToAddress() accepts this data as it is. */
        const struct sockaddr_in *address = (const void *)RLDataGetBytePtr(RLArrayGetValueAtIndex(addresses, i));
        char text[INET_ADDRSTRLEN];
        if (address->sin_family == AF_INET && inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != NULL)
            printf("  %s: %s, port %d\n", query->name, text, ntohs(address->sin_port));
    }
}

static void ask(RLWorkersRef workers, Query *query, RLTimeInterval timeout)
{
    RLWorkContext context = {.info = query};
    /* Numeric addresses need no network. A real program omits AI_NUMERICHOST. */
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    RLHostResolveRef resolve =
        RLScheduleSource(RLHostResolveCreate(NULL, query->name, "80", &hints, timeout, resolved, &context));
    if (resolve == NULL || !RLWorkersSubmit(workers, resolve)) /* kept by the loop until its callback is called */
        perror("resolve");
}

/* Occupies its thread until it is cancelled. */
static void keepThread(RLWorkRef work, void *info)
{
    (void)info;
    while (RLRunLoopSourceIsValid(work)) {}
}

int main(void)
{
    RLWorkersRef workers = RLWorkersCreate(NULL, 1);
    Query queries[] = {{.name = "127.0.0.1"}, {.name = "no.such.host"}, {.name = "192.0.2.1"}};
    puts("an address, and a name that nothing knows");
    for (int i = 0; i < 2; i++)
        ask(workers, &queries[i], 30);
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);

    puts("other work occupies the only thread");
    RLWorkRef work = RLWorkCreate(NULL, 0, keepThread, NULL, NULL);
    RLWorkersSubmit(workers, work);
    ask(workers, &queries[2], 0.01);
    int ok = result == kRLRunLoopRunFinished &&
             RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0) == kRLRunLoopRunFinished && queries[0].count == 1 &&
             queries[1].error == EAI_NONAME && queries[2].error == kRLHostResolveTimedOut;

    RLWorkCancel(work);
    RLRelease(workers); /* waits for the thread */
    RLRelease(work);
    return ok ? 0 : 1;
}
