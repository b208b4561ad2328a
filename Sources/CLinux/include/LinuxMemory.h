/* Memory: files of it that processes share, their seals and mappings, and advice about pages. Part of CLinux.h. */
#ifndef CLINUX_MEMORY_H
#define CLINUX_MEMORY_H
#include "LinuxDescriptors.h"
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* The constants are macros. A memory file for so many bytes; EFBIG if that is more than the process may write (`ulimit -f`), because
   trying would raise SIGXFSZ. */
static inline int linux_memory_file(off_t size)
{
    uint64_t limit[2];
    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) == 0 && (uint64_t)size > limit[0]) {
        errno = EFBIG;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, "runloop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* A file that cannot shrink under its reader. */
static inline int linux_seal_size(int fd) { return linux_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL); }
static inline int linux_is_sealed(int fd)
{
    int seals = linux_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}
static inline int linux_seal_growth(int fd) { return linux_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW); }
static inline off_t linux_first_hole(int fd) { return syscall(SYS_lseek, fd, (off_t)0, SEEK_HOLE); }

/* Seals a file, and returns whether it has all its pages and keeps them from now on. A file that cannot shrink, and that can be
   written to only through mappings that exist already (Linux 5.1), cannot get holes. It does not matter who has added the seals. */
static inline int linux_keep_pages(int fd, off_t size)
{
    (void)linux_fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    int seals = linux_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0 &&
           linux_first_hole(fd) >= size;
}

/* Whether the kernel has the seals for that. */
static inline int linux_can_keep_pages(void)
{
    int fd = linux_memory_file(0);
    int can = fd >= 0 && linux_fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return can;
}

/* Allocates all pages at once, or fails. */
static inline int linux_allocate(int fd, off_t size) { return (int)syscall(SYS_fallocate, fd, 0, (off_t)0, size); }
static inline long linux_pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
    return syscall(SYS_pwrite64, fd, buffer, size, offset);
}
static inline long linux_pread(int fd, void *buffer, size_t size, off_t offset)
{
    return syscall(SYS_pread64, fd, buffer, size, offset);
}

struct linux_file_identity {
    uint64_t device, inode;
};
/* How many bytes of a regular file are allocated, at most its size; -1 for other files. */
static inline int64_t linux_memory_file_bytes(int fd, struct linux_file_identity *identity)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    identity->device = status.st_dev;
    identity->inode = status.st_ino;
    return (int64_t)status.st_blocks * 512 < status.st_size ? (int64_t)status.st_blocks * 512 : status.st_size;
}

/* MAP_FAILED is a macro with a cast. */
static inline void *linux_map(int fd, size_t size, int writable)
{
    int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *address = mmap(NULL, size, rights, MAP_SHARED | MAP_POPULATE, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}
static inline int linux_unmap(void *address, size_t size) { return munmap(address, size); }

/* The whole of a file; NULL unless it is an ordinary memory file (one of huge pages may lack a page that it seems to
   have) that is not too large, and of which all pages are there and will stay: then no access can fault. That they stay
   is made sure behind the mapping: there is none to write to of a file that keeps its pages. *isWritable: 1 if it can be
   written to, 0 if that is not allowed, -1 with NULL if this process has no memory for it. */
static inline void *linux_map_memory_file(int fd, size_t limit, size_t *size, int *isWritable)
{
    struct statfs system;
    struct stat status;
    *isWritable = 0;
    if (syscall(SYS_fstatfs, fd, &system) != 0 || system.f_type != TMPFS_MAGIC || !linux_is_sealed(fd) ||
        fstat(fd, &status) != 0 || (uint64_t)status.st_size > limit || linux_first_hole(fd) < status.st_size)
        return NULL;
    *size = (size_t)status.st_size;
    void *address = linux_map(fd, *size, 1);
    *isWritable = address != NULL ? 1 : errno == ENOMEM || errno == EAGAIN ? -1 : 0;
    if (*isWritable == 0)
        address = linux_map(fd, *size, 0);
    if (address == NULL || linux_keep_pages(fd, status.st_size))
        return address;
    (void)linux_unmap(address, *size);
    return NULL;
}

static inline void linux_wish_huge_pages(void *memory, size_t size)
{
    syscall(SYS_madvise, memory, size, MADV_HUGEPAGE);
}

#endif
