/* Shared by the tests of message ports: a private directory for names, a server, and functions that make data in one line. */
#ifndef RUNLOOP_TESTS_C_MESSAGE_PORT_H
#define RUNLOOP_TESTS_C_MESSAGE_PORT_H
#include "../own-directory.h"
#include "harness.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define NAME RLSTR("com.example.test")
#define MODE kRLRunLoopDefaultMode

static char name_directory[OWN_DIRECTORY_SIZE];

static UNUSED void use_own_directory(void) { make_directory_for_names(name_directory); }
static UNUSED void remove_own_directory(void) { remove_directory(name_directory); }

static UNUSED int name_files(void) { return count_entries(name_directory); }

/* Returns how many memory files with this name (the library's begin with "runloop") and a size in this range are mapped in this
 * process. */
static UNUSED int mapped_files(const char *name, unsigned long least, unsigned long most)
{
    char line[512], file[64];
    unsigned long from, to;
    int count = 0;
    snprintf(file, sizeof file, "/memfd:%s", name);
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps))
        count +=
            strstr(line, file) && sscanf(line, "%lx-%lx", &from, &to) == 2 && to - from >= least && to - from <= most;
    fclose(maps);
    return count;
}

/* Returns the resident memory of this process. */
static UNUSED long resident_megabytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file != NULL && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * 4 / 1024;
}

static UNUSED RLDataRef text_data(const char *text)
{
    return RLDataCreate(NULL, (const uint8_t *)text, (RLIndex)strlen(text));
}

static UNUSED bool is_text(RLDataRef data, const char *text)
{
    return data != NULL && RLDataGetLength(data) == (RLIndex)strlen(text) &&
           memcmp(RLDataGetBytePtr(data), text, strlen(text)) == 0;
}

/* A local port with its source in the default mode of this thread's loop. */
struct server {
    RLMessagePortRef port;
    RLRunLoopSourceRef source;
};

static UNUSED void serve(struct server *server, RLStringRef name, RLMessagePortCallBack callout, void *info)
{
    RLMessagePortContext context = {.info = info};
    RLBoolean must_free = 9;
    server->port = RLMessagePortCreateLocal(NULL, name, callout, &context, &must_free);
    require(server->port != NULL && must_free == 0);
    server->source = RLMessagePortCreateRunLoopSource(NULL, server->port, 0);
    require(server->source != NULL);
    RLRunLoopAddSource(RLRunLoopGetCurrent(), server->source, MODE);
}

static UNUSED void end_server(struct server *server)
{
    RLMessagePortInvalidate(server->port);
    RLRelease(server->source);
    RLRelease(server->port);
}

/* Sends a text and returns the result. The reply, if wanted, is stored in *reply. */
static UNUSED int32_t ask(RLMessagePortRef remote, int32_t id, const char *text, RLTimeInterval limit,
                          RLRunLoopMode mode, RLDataRef *reply)
{
    RLDataRef data = text ? text_data(text) : NULL;
    int32_t result = RLMessagePortSendRequest(remote, id, data, 1, limit, mode, reply);
    if (data)
        RLRelease(data);
    return result;
}

/* Starts a server in its own process and waits until it is ready. *ready is the read end of a pipe that reaches end-of-file when
 * the process exits. */
static UNUSED pid_t start_server_process(void (*body)(int ready), int *ready)
{
    int ends[2];
    require(pipe(ends) == 0);
    pid_t child = fork_child();
    if (child == 0) {
        close(ends[0]);
        body(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    char byte;
    require(read(ends[0], &byte, 1) == 1);
    *ready = ends[0];
    return child;
}

/* For server processes: reports that the name has been claimed. */
static UNUSED void say_ready(int fd) { require(write(fd, "r", 1) == 1); }

static UNUSED void end_process(pid_t child, int signal)
{
    int status;
    if (signal)
        kill(child, signal);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (signal)
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    else
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
