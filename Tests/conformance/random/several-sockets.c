/* several-sockets.c - random work on a few sockets of different kinds in a loop: arriving data, enabling, adding.
 * Prints every callback. Between the steps CoreFoundation's own thread notices everything that is ready.
 *
 * That thread reads and accepts ahead, and remembers what was ready (difference 7). So a callback is not enabled
 * again while something is still to be reported, and nothing is disabled or removed. No connection ends (difference
 * 9). */
#include "../socket.h"
#include "random.h"

enum { SOCKETS = 4, STEPS = 12, WORDS = 16 };

typedef struct {
    Sock sock;
    CFOptionFlags types;
    int kind;    /* a stream with read or with data callbacks, datagrams with read callbacks, a listener */
    int pending; /* bytes or clients without a callback so far */
    int is_told; /* no further callback is made until the type is enabled again */
    struct sockaddr_un address;
} End;

static End ends[SOCKETS];
/* The callbacks since the last line. Of several ready sockets CoreFoundation serves the lowest order, and this
 * library lets them take turns. So the words are sorted before they are printed. */
static char words[WORDS][16];
static int word_count;

static void called_back(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info)
{
    End *end = info;
    char bytes[64];
    (void)address;
    int length =
        snprintf(words[word_count % WORDS], sizeof *words, " %ld:%lu", (long)(end - ends), (unsigned long)type);
    char *word = words[word_count++ % WORDS] + length;
    size_t room = sizeof *words - (size_t)length;
    if (type != WRITE && !(CFSocketGetSocketFlags(socket) & type))
        end->is_told = 1;
    if (type == DATA) {
        snprintf(word, room, "(%ld)", (long)CFDataGetLength(data));
        end->pending = 0;
    } else if (type == ACCEPT) {
        close(*(const CFSocketNativeHandle *)data);
        end->pending--;
    } else if (type == READ) {
        ssize_t got = recv(end->sock.fd, bytes, sizeof bytes, MSG_DONTWAIT);
        snprintf(word, room, "(%zd)", got);
        end->pending = end->kind == 2 ? end->pending - (got > 0) : end->pending - (int)(got > 0 ? got : 0);
    }
}

static void make_end(End *end, int kind)
{
    static const CFOptionFlags types[] = {READ, DATA, READ, ACCEPT};
    static unsigned names;
    CFSocketContext context = {.info = end};
    *end = (End){.kind = kind, .types = types[kind] | (kind < 3 && pick(2) ? WRITE : 0)};
    if (kind == 3) {
        end->sock.fd = socket(AF_UNIX, SOCK_STREAM, 0);
        end->address.sun_family = AF_UNIX;
        snprintf(end->address.sun_path + 1, 40, "sockets.c %d %u", (int)getpid(), names++);
        require(bind(end->sock.fd, (struct sockaddr *)&end->address, sizeof end->address) == 0);
        require(listen(end->sock.fd, 20) == 0);
        end->sock.far = -1;
    } else
        make_pair(&end->sock, kind == 2 ? SOCK_DGRAM : SOCK_STREAM);
    end->sock.socket = CFSocketCreateWithNative(NULL, end->sock.fd, end->types, called_back, &context);
    end->sock.source = CFSocketCreateRunLoopSource(NULL, end->sock.socket, (CFIndex)(end - ends));
    if (pick(3) == 0)
        CFSocketSetSocketFlags(end->sock.socket, CLOSES);
}

static void end_end(End *end)
{
    CFSocketInvalidate(end->sock.socket);
    CFRelease(end->sock.socket);
    CFRelease(end->sock.source);
    if (end->sock.far >= 0)
        close(end->sock.far);
}

/** Sends something from the other end. */
static void send_some(End *end)
{
    int count = 1 + (int)pick(4);
    if (end->pending > 12 || ((end->kind == 1 || end->kind == 2) && end->pending > 0))
        return;
    if (end->kind == 3) {
        int client = socket(AF_UNIX, SOCK_STREAM, 0);
        require(connect(client, (struct sockaddr *)&end->address, sizeof end->address) == 0);
        close(client);
        count = 1;
    } else
        require(send(end->sock.far, "abcd", (size_t)count, MSG_DONTWAIT) == count);
    end->pending += end->kind == 2 ? 1 : count;
    printf(" send(%d)", count);
}

static void change(End *end)
{
    unsigned what = pick(9);
    CFStringRef mode = pick(3) ? MODE : OTHER;
    printf(" %ld.%u", (long)(end - ends), what);
    if (what < 4)
        send_some(end);
    else if (what < 7 && (end->pending == 0 || end->is_told)) {
        end->is_told = 0;
        if (what == 6)
            CFRunLoopAddSource(HERE, end->sock.source, mode);
        else
            CFSocketEnableCallBacks(end->sock.socket, pick(2) ? end->types : end->types & ~WRITE);
    } else if (what == 7 && end->pending == 0) {
        end_end(end);
        make_end(end, end->kind);
    } else
        printf("=%d%d%lx", CFSocketIsValid(end->sock.socket), CFRunLoopContainsSource(HERE, end->sock.source, mode),
               (unsigned long)CFSocketGetSocketFlags(end->sock.socket));
}

static int compare_words(const void *one, const void *two) { return strcmp(one, two); }

/** Runs a mode until no callback is made, or until they would not end. */
static void serve(CFStringRef mode)
{
    int runs = 0;
    printf(" [%s", mode == MODE ? "" : "other");
    do
        settle();
    while (CFRunLoopRunInMode(mode, 0, true) == kCFRunLoopRunHandledSource && runs++ < 10);
    qsort(words, (size_t)word_count, sizeof *words, compare_words);
    for (int i = 0; i < word_count; i++)
        printf("%s", words[i]);
    word_count = 0;
    printf("]");
}

static void script(unsigned long seed)
{
    for (int i = 0; i < SOCKETS; i++) {
        make_end(&ends[i], i);
        CFRunLoopAddSource(HERE, ends[i].sock.source, pick(2) ? MODE : OTHER);
    }
    for (int step = 0; step < STEPS; step++) {
        CFStringRef mode = pick(3) ? MODE : OTHER;
        printf("%lu.%d:", seed, step);
        for (unsigned i = pick(3); i > 0; i--)
            change(&ends[pick(SOCKETS)]);
        serve(mode);
        printf("\n");
    }
    for (int i = 0; i < SOCKETS; i++)
        end_end(&ends[i]);
}

/** Runs in a new process: settle() needs an unused descriptor number each time. */
static void run_one(unsigned long seed) { run_in_process(seed, script); }

int main(int count, char **arguments) { return run_scripts(count, arguments, run_one); }
