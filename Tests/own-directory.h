/* Directories of a test's or a benchmark's own, below $TMPDIR. Who starts the program takes that away with all that is in it
 * (Tests/c/harness.c, the Makefiles, Tests/conftest.py), so that nothing is left of one that fails or is killed. */
#ifndef RUNLOOP_TESTS_OWN_DIRECTORY_H
#define RUNLOOP_TESTS_OWN_DIRECTORY_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OWN_DIRECTORY_SIZE 64

static inline void make_own_directory(char path[OWN_DIRECTORY_SIZE])
{
    const char *base = getenv("TMPDIR");
    /* Short: the paths of sockets have to fit into 108 bytes. */
    int is_short = base != NULL && *base != 0 && strlen(base) < 32;
    snprintf(path, OWN_DIRECTORY_SIZE, "%s%sXXXXXX", is_short ? base : "/tmp", is_short ? "/" : "/runloop-");
    if (mkdtemp(path) == NULL) {
        perror(path);
        abort();
    }
}

/* Makes a directory, in which the names of message ports are files of this process alone. */
static inline void make_directory_for_names(char path[OWN_DIRECTORY_SIZE])
{
    make_own_directory(path);
    setenv("RUNLOOP_PORT_DIR", path, 1);
}

static inline int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static inline void remove_directory(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

#endif
