/* port-source.c - a version-1 source: the loop watches a file descriptor and calls perform while it is readable.
 *
 * The source is level-triggered: the loop never reads the descriptor. If perform leaves data in the pipe, it is
 * called again. */
#include <RunLoop/RunLoop.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Reader {
    int fd;                    /* closed by main, after the source is invalid */
    RLRunLoopSourceRef source; /* borrowed from main */
    sem_t firstMessageRead;
    char text[64];
    size_t length;
    int performs;
    int sawEnd;
} Reader;

/* Called by the loop whenever it needs the descriptor. */
static int readerGetPort(void *info)
{
    Reader *reader = info;
    return reader->fd;
}

static void readerPerform(void *info)
{
    Reader *reader = info;
    char bytes[4]; /* small on purpose */
    ssize_t count = read(reader->fd, bytes, sizeof bytes);
    if (count < 0) {
        if (errno != EINTR && errno != EAGAIN) { /* otherwise still readable, so the loop calls again */
            perror("port-source: read");
            RLRunLoopSourceInvalidate(reader->source);
        }
        return;
    }
    reader->performs++;
    if (count == 0) {
        puts("perform: end of file; the source is invalidated");
        reader->sawEnd = 1;
        /* Required: a descriptor at end-of-file stays readable, so perform would be called without end. */
        RLRunLoopSourceInvalidate(reader->source);
        return;
    }
    printf("perform: read %zd bytes \"%.*s\"\n", count, (int)count, bytes);
    if (reader->length + (size_t)count < sizeof reader->text) {
        memcpy(reader->text + reader->length, bytes, (size_t)count);
        reader->length += (size_t)count;
    }
    if (reader->length == strlen("run loops"))
        sem_post(&reader->firstMessageRead);
}

typedef struct Writer {
    int fd; /* owned and closed by the writing thread */
    sem_t *goOn;
} Writer;

static void *writerMain(void *argument)
{
    Writer *writer = argument;
    sem_wait(writer->goOn);
    /* The loop is asleep, or about to sleep: the kernel wakes it. */
    if (write(writer->fd, " wake", strlen(" wake")) < 0)
        perror("port-source: write");
    close(writer->fd);
    return NULL;
}

int main(void)
{
    int ends[2];
    Reader reader = {0};
    if (pipe(ends) != 0 || sem_init(&reader.firstMessageRead, 0, 0) != 0) {
        perror("port-source: pipe");
        return 1;
    }
    reader.fd = ends[0];

    /* Data that arrives before the source is added is noticed, too. */
    if (write(ends[1], "run loops", strlen("run loops")) < 0) {
        perror("port-source: write");
        return 1;
    }

    Writer writer = {.fd = ends[1], .goOn = &reader.firstMessageRead};
    pthread_t thread;
    if (pthread_create(&thread, NULL, writerMain, &writer) != 0) {
        fputs("port-source: cannot start the thread\n", stderr);
        return 1;
    }

    /* The version field tells the library which of the two context types is passed. */
    RLRunLoopSourceContext1 context = {
        .version = 1,
        .info = &reader,
        .getPort = readerGetPort,
        .perform = readerPerform,
    };
    reader.source = RLRunLoopSourceCreate(kRLAllocatorDefault, 0, (RLRunLoopSourceContext *)&context);
    if (reader.source == NULL) {
        perror("port-source: source");
        return 1;
    }
    RLRunLoopAddSource(RLRunLoopGetCurrent(), reader.source, kRLRunLoopDefaultMode);

    while (RLRunLoopSourceIsValid(reader.source)) {
        if (RLRunLoopRunInMode(kRLRunLoopDefaultMode, 10.0, 1) != kRLRunLoopRunHandledSource)
            break;
    }
    pthread_join(thread, NULL);
    RLRunLoopSourceInvalidate(reader.source); /* before the descriptor is closed; harmless if already invalid */
    RLRelease(reader.source);
    close(reader.fd);
    sem_destroy(&reader.firstMessageRead);

    printf("all of it: \"%s\", in %d calls\n", reader.text, reader.performs);
    return reader.sawEnd && reader.performs == 6 && strcmp(reader.text, "run loops wake") == 0 ? 0 : 1;
}
