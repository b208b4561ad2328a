/* rooms.c - a chat with rooms. A visitor is in one room at a time and receives what the others there say; the line "/tea" leads
 * into the room "tea". Visitors come through a path and through a socket of the program's own, as systemd hands one over. */
#include <RunLoopKit/RunLoopKit.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { serverCount = 2, roomCount = 2 };
static const char *const names[roomCount] = {"hall", "tea"};
static RLStreamGroupRef rooms[roomCount];
static int visitorCount;

/* ---- The servers ---- */

/* The state of a connection. */
struct Visitor {
    int room;
};

static const void *makeVisitor(const void *info) /* called for each connection */
{
    (void)info;
    visitorCount++;
    return calloc(1, sizeof(struct Visitor));
}

static void freeVisitor(const void *visitor) /* called when the stream of the connection is freed */
{
    visitorCount--;
    free((void *)visitor);
}

static void tell(int room, const char *format, int number, const char *name)
{
    char news[64];
    RLStreamGroupWrite(rooms[room], news, snprintf(news, sizeof news, format, number, name), NULL);
}

static void enter(RLStreamRef stream, struct Visitor *visitor, int room)
{
    if (RLStreamGroupRemove(rooms[visitor->room], stream)) /* not at first */
        tell(visitor->room, "* %d has left for %s\n", 1, names[room]);
    visitor->room = room;
    if (RLStreamGroupAdd(rooms[room], stream) > 0)
        tell(room, "* %d in %s\n", (int)RLStreamGroupGetCount(rooms[room]), names[room]);
}

static void serve(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    struct Visitor *visitor = info;
    if (event->type != kRLStreamEventHasBytesAvailable) {
        RLStreamClose(stream); /* it leaves the room, too */
    } else if (event->bytes[0] != '/') {
        RLStreamGroupWrite(rooms[visitor->room], event->bytes, event->length, stream); /* to the others */
    } else {
        for (int room = 0; room < roomCount; room++)
            if (strncmp((const char *)event->bytes + 1, names[room], strlen(names[room])) == 0)
                enter(stream, visitor, room);
    }
}

static void welcome(RLListenerRef server, RLStreamRef stream, void *visitor)
{
    (void)server;
    if (visitor == NULL) { /* out of memory */
        RLStreamClose(stream);
        return;
    }
    RLStreamSetReadDelimiter(stream, "\n", 1, 128);
    RLStreamSetHighWaterMark(stream, 4096); /* a visitor that is further behind fails: serve() closes its stream */
    enter(stream, visitor, 0);
}

/* ---- The visitors ---- */

/* Lines that a visitor waits for, each with its answer. After the last the visitor leaves. */
static const char *const scripts[serverCount][6] = {
    {"* 2 in hall\n", "/tea\n", "* 2 in tea\n", "is there any cake?\n", "the last piece\n", ""},
    {"* 1 has left for tea\n", "/tea\n", "is there any cake?\n", "the last piece\n"},
};

static void visit(RLStreamRef stream, const RLStreamEvent *event, void *info)
{
    const char *const **line = info;
    if (event->length == 0 || memcmp(event->bytes, (*line)[0], (size_t)event->length) != 0)
        return;
    printf("%.*s", (int)event->length, (const char *)event->bytes);
    RLStreamWrite(stream, (*line)[1], (RLIndex)strlen((*line)[1]));
    *line += 2;
    if (*line == scripts[0] + 6 || *line == scripts[1] + 4)
        RLStreamCloseWhenWritten(stream);
}

int main(void)
{
    int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (own < 0 || listen(own, 5) != 0)
        return 1;
    char path[32];
    snprintf(path, sizeof path, "@rooms-%d", (int)getpid());
    RLStreamContext context = {.retain = makeVisitor, .release = freeVisitor};
    RLListenerRef servers[serverCount] = {RLServerCreateWithPath(NULL, path, welcome, serve, &context),
                                          RLServerCreate(NULL, own, 1, welcome, serve, &context)};
    for (int i = 0; i < roomCount; i++)
        rooms[i] = RLStreamGroupCreate(NULL);
    const char *const *lines[serverCount] = {scripts[0], scripts[1]};
    for (int i = 0; i < serverCount; i++) {
        RLRunLoopSourceSetKeepsModeRunning(RLScheduleSource(servers[i]), 0); /* the run ends with the last visitor */
        RLDataRef address = RLListenerCopyAddress(servers[i]);
        RLStreamContext words = {.info = &lines[i]};
        RLStreamRef visitor = RLScheduleSource(RLStreamCreateConnectedToAddress(NULL, address, visit, &words));
        RLStreamSetReadDelimiter(visitor, "\n", 1, 128);
        RLRelease(address);
    }
    RLRunLoopRunResult result = RLRunLoopRunInMode(kRLRunLoopDefaultMode, 60, 0);
    printf("%d visitors are left\n", visitorCount);
    for (int i = 0; i < serverCount; i++)
        RLListenerClose(servers[i]);
    for (int i = 0; i < roomCount; i++)
        RLRelease(rooms[i]);
    return result == kRLRunLoopRunFinished && visitorCount == 0 ? 0 : 1;
}
