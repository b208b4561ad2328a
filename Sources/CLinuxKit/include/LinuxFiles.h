/* Changes of files: inotify, directories, and a timer descriptor. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_FILES_H
#define CLINUXKIT_FILES_H
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A decoded inotify_event; in C because that ends in an array without a length. `name` is empty if the event is about
   the watched file or directory itself. */
struct linux_file_event {
    int watch;
    uint32_t mask, cookie;
    const char *name;
};
/* Decodes the event at an offset of what was read. Returns the offset of the next one. */
static inline size_t linux_file_event_at(const char *bytes, size_t offset, struct linux_file_event *event)
{
    const struct inotify_event *raw = (const struct inotify_event *)(const void *)(bytes + offset);
    event->watch = raw->wd;
    event->mask = raw->mask;
    event->cookie = raw->cookie;
    event->name = raw->len > 0 ? raw->name : "";
    return offset + sizeof *raw + raw->len;
}

/* Blanks the event at an offset, so that it reports nothing. */
static inline void linux_forget_file_event(char *bytes, size_t offset)
{
    ((struct inotify_event *)(void *)(bytes + offset))->mask = 0;
}

static inline int linux_open_inotify(void) { return (int)syscall(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK); }
static inline long linux_read_nonblocking(int fd, void *bytes, size_t size)
{
    return syscall(SYS_read, fd, bytes, size);
}
static inline int linux_remove_watch(int inotify, int watch)
{
    return (int)syscall(SYS_inotify_rm_watch, inotify, watch);
}

/* The macros as typed constants: some are signed, others unsigned. */
static const uint32_t linux_in_modify = IN_MODIFY, linux_in_attrib = IN_ATTRIB, linux_in_close_write = IN_CLOSE_WRITE,
                      linux_in_moved_from = IN_MOVED_FROM, linux_in_moved_to = IN_MOVED_TO, linux_in_create = IN_CREATE,
                      linux_in_delete = IN_DELETE, linux_in_delete_self = IN_DELETE_SELF,
                      linux_in_move_self = IN_MOVE_SELF, linux_in_unmount = IN_UNMOUNT,
                      linux_in_overflow = IN_Q_OVERFLOW, linux_in_ignored = IN_IGNORED, linux_in_directory = IN_ISDIR;

enum {
    linux_watch_changes =
        IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_EXCL_UNLINK
};
enum { linux_watch_itself = IN_DELETE_SELF | IN_MOVE_SELF };

/* Watches the directory that is open, wherever its path leads by now. `path` is for systems without /proc. */
static inline int linux_watch_directory(int inotify, int fd, const char *path, int is_root)
{
    char link[32];
    /* IN_MASK_ADD: a directory that is already watched as a root remains one. */
    uint32_t mask = IN_MASK_ADD | linux_watch_changes | (is_root ? (uint32_t)linux_watch_itself : 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int watch = (int)syscall(SYS_inotify_add_watch, inotify, link, mask);
    if (watch >= 0 || errno != ENOENT)
        return watch;
    return (int)syscall(SYS_inotify_add_watch, inotify, path, mask | IN_ONLYDIR | (is_root ? 0 : IN_DONT_FOLLOW));
}
static inline int linux_watch_file(int inotify, const char *path)
{
    return (int)syscall(SYS_inotify_add_watch, inotify, path,
                        IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | linux_watch_itself);
}

/* Opens a directory. By syscall(2), because open() is variadic and a cancellation point. */
static inline int linux_open_directory(const char *path, int follows)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path,
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | (follows ? 0 : O_NOFOLLOW));
}

/* Identifies a file or directory. */
struct linux_identity {
    uint64_t device, inode;
};
static inline struct linux_identity linux_identity_of(const struct stat *status)
{
    struct linux_identity identity = {status->st_dev, status->st_ino};
    return identity;
}
/* Identifies an open directory and its parent. Returns nonzero if that fails, as it does for a directory that may be
   read but not searched. */
static inline int linux_identify(int fd, struct linux_identity *own, struct linux_identity *above)
{
    struct stat status, upper;
    if (fstat(fd, &status) != 0)
        return -1;
    *own = linux_identity_of(&status);
    if (fstatat(fd, "..", &upper, 0) != 0)
        return -1;
    *above = linux_identity_of(&upper);
    return 0;
}

/* Identifies what a path leads to. Returns nonzero on failure. */
static inline int linux_identify_path(const char *path, int follows, struct linux_identity *own)
{
    struct stat status;
    if (fstatat(AT_FDCWD, path, &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    *own = linux_identity_of(&status);
    return 0;
}

/* An entry of a directory. In C because its kinds are macros. */
struct linux_entry {
    const char *name;
    int isDirectory;
};
/* Reads the next entry other than `.` and `..`. Returns 1, 0 at the end, or -1 with errno. */
static inline int linux_next_entry(DIR *directory, struct linux_entry *entry)
{
    for (;;) {
        errno = 0;
        const struct dirent *raw = readdir(directory);
        if (raw == NULL)
            return errno == 0 ? 0 : -1;
        if (strcmp(raw->d_name, ".") == 0 || strcmp(raw->d_name, "..") == 0)
            continue;
        struct stat status;
        entry->name = raw->d_name;
        entry->isDirectory =
            raw->d_type == DT_DIR ||
            (raw->d_type == DT_UNKNOWN && fstatat(dirfd(directory), raw->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
             S_ISDIR(status.st_mode));
        return 1;
    }
}

/* Returns an absolute path without a trailing slash, which the caller frees; NULL with errno on failure. */
static inline char *linux_absolute_path(const char *path)
{
    char *directory = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
    if (directory == NULL)
        return NULL;
    size_t before = strlen(directory), length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    char *whole = malloc(before + length + 2);
    if (whole != NULL) {
        memcpy(whole, directory, before);
        if (before > 0 && directory[before - 1] != '/')
            whole[before++] = '/';
        memcpy(whole + before, path, length);
        whole[before + length] = 0;
    }
    free(directory);
    return whole;
}

/* Returns whether a path is equal to another one or is below it. */
static inline int linux_is_at_or_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == 0 || path[length] == '/');
}

/* Creates one descriptor for two: it is readable when at least one of them is. -1 with errno on failure. */
static inline int linux_open_both(int first, int second)
{
    int both = epoll_create1(EPOLL_CLOEXEC);
    if (both < 0)
        return -1;
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(both, EPOLL_CTL_ADD, first, &event) == 0 && epoll_ctl(both, EPOLL_CTL_ADD, second, &event) == 0)
        return both;
    int error = errno;
    syscall(SYS_close, both);
    errno = error;
    return -1;
}
/* Opens a new inotify descriptor and puts it into such a set. Closes the one before (-1: none), after removing it from
 * the set: closing alone would not remove it if a child of fork() has it as well. */
static inline int linux_replace_inotify(int both, int before)
{
    if (before >= 0) {
        epoll_ctl(both, EPOLL_CTL_DEL, before, NULL);
        syscall(SYS_close, before);
    }
    int inotify = linux_open_inotify();
    struct epoll_event event = {.events = EPOLLIN};
    if (inotify < 0 || epoll_ctl(both, EPOLL_CTL_ADD, inotify, &event) == 0)
        return inotify;
    int error = errno;
    syscall(SYS_close, inotify);
    errno = error;
    return -1;
}
static inline int linux_open_timer(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }
/* Makes the timer readable at a time of the monotonic clock, in nanoseconds, and not before; 0: never. */
static inline void linux_set_file_timer(int fd, uint64_t time)
{
    struct itimerspec spec = {.it_value = {(time_t)(time / 1000000000), (long)(time % 1000000000)}};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}
static inline uint64_t linux_monotonic_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
