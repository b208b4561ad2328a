/* runloop explain: asks a process what its loops do. */
#include "../RunLoopTrace/Service.h"
#include "Command.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIME_LIMIT 10 /* seconds */

/* The content of a file below /proc/PID, which has no size; a 0 is behind it. NULL if there is none. */
static char *readOf(int process, const char *name, size_t *size)
{
    char path[64], *content = allocate(1);
    ssize_t got = -1;
    snprintf(path, sizeof path, "/proc/%d/%s", process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (*size = 0; fd >= 0; *size += (size_t)got) {
        content = reallocate(content, *size + 4097);
        if ((got = read(fd, content + *size, 4096)) <= 0)
            break;
    }
    if (fd >= 0)
        close(fd);
    content[*size] = 0;
    if (got == 0)
        return content;
    free(content);
    return NULL;
}

/* The process has its ports where its own environment says. */
static void useItsDirectory(int process)
{
    static const char *const names[] = {"RUNLOOP_PORT_DIR", "XDG_RUNTIME_DIR"};
    size_t size;
    char *environment = readOf(process, "environ", &size);
    for (int index = 0; environment != NULL && index < 2; index++) {
        size_t length = strlen(names[index]);
        unsetenv(names[index]);
        for (const char *entry = environment; entry < environment + size; entry += strlen(entry) + 1)
            if (strncmp(entry, names[index], length) == 0 && entry[length] == '=')
                setenv(names[index], entry + length + 1, 1);
    }
    free(environment);
}

static char stateOf(int process)
{
    size_t size;
    char *text = readOf(process, "stat", &size), *end = text ? strrchr(text, ')') : NULL;
    char state = end != NULL && end[1] == ' ' ? end[2] : 0;
    free(text);
    return state;
}

/* Ends the command if the process cannot have a port that answers. */
static void checkProcess(int process)
{
    struct stat status;
    char path[64];
    size_t size;
    snprintf(path, sizeof path, "/proc/%d", process);
    if (stat(path, &status) != 0)
        fail("no process %d", process);
    if (status.st_uid != geteuid())
        fail("process %d is another user's", process);
    char *maps = readOf(process, "maps", &size);
    if (maps == NULL)
        fail("process %d: %s", process, strerror(errno));
    if (size == 0)
        fail("process %d has ended", process);
    if (strstr(maps, "/librunloop-trace.so") == NULL)
        fail("process %d cannot be asked: start it by `runloop run`", process);
    free(maps);
    char state = stateOf(process);
    if (state == 'T' || state == 't')
        fail("process %d is stopped, and cannot answer", process);
}

static RLDataRef ask(int process)
{
    char name[64];
    RLDataRef reply = NULL;
    snprintf(name, sizeof name, "org.runloop.inspect.%d", process);
    RLStringRef string = RLStringCreateWithCString(NULL, name, kRLStringEncodingUTF8);
    RLMessagePortRef port = string ? RLMessagePortCreateRemote(NULL, string) : NULL;
    if (port == NULL && errno == ECONNREFUSED)
        fail("process %d does not answer: it has run no loop yet, or was not started by `runloop run`", process);
    if (port == NULL)
        fail("process %d: %s", process, strerror(errno));
    int32_t result =
        RLMessagePortSendRequest(port, SERVICE_EXPLAIN, NULL, TIME_LIMIT, TIME_LIMIT, kRLRunLoopDefaultMode, &reply);
    char state = result == kRLMessagePortSuccess ? 0 : stateOf(process);
    if (state == 'T' || state == 't')
        fail("process %d is stopped, and cannot answer", process);
    if (result != kRLMessagePortSuccess && (state == 0 || state == 'Z'))
        fail("process %d has ended", process);
    if (result != kRLMessagePortSuccess)
        fail("process %d does not answer", process);
    if (reply == NULL)
        fail("process %d has run no loop yet", process);
    return reply;
}

int explainCommand(int count, char **arguments)
{
    char *end = NULL;
    long process = count == 2 ? strtol(arguments[1], &end, 10) : 0;
    if (process <= 0 || process > INT32_MAX || *end != 0)
        return printUsage(stderr);
    checkProcess((int)process);
    useItsDirectory((int)process);
    RLDataRef reply = ask((int)process);
    fwrite(RLDataGetBytePtr(reply), 1, (size_t)RLDataGetLength(reply), stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
