/* The files of a directory: locks and sockets that have names. Part of CLinux.h. */
#ifndef CLINUX_DIRECTORIES_H
#define CLINUX_DIRECTORIES_H
#include "LinuxProcess.h"
#include <bsd/libutil.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Shims, because the flags are macros of several types. */
static inline void linux_make_directory(const char *path) { syscall(SYS_mkdirat, AT_FDCWD, path, 0700); }
static inline int linux_open_directory(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens and locks a file, creating it if it is missing, and makes sure that it still has this name once it is locked.
   Does not wait for the lock and follows no symbolic link. flopenat() is variadic, and calls glibc functions that are
   cancellation points: a thread that was cancelled there would keep the lock of the names. */
static inline int linux_open_locked(int directory, const char *name)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int fd = flopenat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    pthread_setcancelstate(state, NULL);
    return fd;
}

/* Opens the file itself, which may be a socket, without following a symbolic link and without waiting. */
static inline int linux_open_path(int directory, const char *name)
{
    return (int)syscall(SYS_openat, directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Tests of a file's type and owner; S_ISSOCK is a macro. */
static inline int linux_is_socket(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}
static inline int linux_is_owned_by_user(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid == linux_user();
}

/* Whether a directory belongs to the user, to root or to `trusted`, and no other user can remove or replace what this
   user puts there: it is not writable for others, or it is sticky. */
static inline int linux_is_guarded(int fd, uid_t trusted)
{
    struct stat status;
    return fstat(fd, &status) == 0 &&
           (status.st_uid == linux_user() || status.st_uid == 0 || status.st_uid == trusted) &&
           ((status.st_mode & 022) == 0 || (status.st_mode & S_ISVTX) != 0);
}

/* Whether `name` still refers to the open file. */
static inline int linux_is_same_file(int fd, int directory, const char *name)
{
    struct stat open, named;
    return fstat(fd, &open) == 0 && syscall(SYS_newfstatat, directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* Opens and locks the file with this name if it is an empty regular file of the user and no process has locked it;
   otherwise returns -1. Does not create it and follows no symbolic link. */
static inline int linux_lock_stale(int directory, const char *name)
{
    struct stat status;
    int fd = (int)syscall(SYS_openat, directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0 && status.st_uid == linux_user() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    syscall(SYS_close, fd);
    return -1;
}
static inline int linux_has_own_socket(int directory, const char *name)
{
    struct stat status;
    return syscall(SYS_newfstatat, directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(status.st_mode) &&
           status.st_uid == linux_user();
}
static inline int linux_is_unmodified_for(int fd, long seconds)
{
    struct stat status;
    struct timespec now;
    return fstat(fd, &status) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           now.tv_sec - status.st_mtim.tv_sec > seconds;
}

/* Reads records of getdents64(2). */
static inline long linux_read_directory(int directory, void *buffer, size_t size)
{
    return syscall(SYS_getdents64, directory, buffer, size);
}
/* Sets `*name` to the name in such a record, and returns the size of the record. */
static inline long linux_directory_entry(const void *record, const char **name)
{
    const struct dirent64 *entry = record;
    *name = entry->d_name;
    return entry->d_reclen;
}
static inline int linux_rewind_directory(int directory) { return lseek(directory, 0, SEEK_SET) == 0 ? 0 : -1; }

static inline int linux_unlink(int directory, const char *name)
{
    return (int)syscall(SYS_unlinkat, directory, name, 0);
}
static inline int linux_rename(int directory, const char *old, const char *new_name)
{
    return (int)syscall(SYS_renameat2, directory, old, directory, new_name, 0);
}
static inline int linux_set_mode(int directory, const char *name, uint32_t mode)
{
    return (int)syscall(SYS_fchmodat, directory, name, mode);
}

#endif
