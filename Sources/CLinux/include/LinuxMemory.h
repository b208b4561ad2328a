/* Memory: memory files that processes share, their seals and mappings, and advice about pages. Part of CLinux.h. */
#ifndef CLINUX_MEMORY_H
#define CLINUX_MEMORY_H
#include "LinuxDescriptors.h"
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Creates an empty memory file that is to have `size` bytes; a shim because the constants are macros. Fails with EFBIG
   if the process may not write files of this size (`ulimit -f`), because trying would raise SIGXFSZ. */
static inline int linux_memory_file(off_t size)
{
    uint64_t limit[2];
    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) == 0 && (uint64_t)size > limit[0]) {
        errno = EFBIG;
        return -1;
    }
    return (int)syscall(SYS_memfd_create, "runloop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* Makes the file's size and its seals permanent. */
static inline int linux_seal_size(int fd)
{
    return linux_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

/* Whether a descriptor from another process is a memory file whose size is `size` and cannot change. Checks the seals
   first: only memory files have any, and for other files fstat(2) may wait (FUSE). A memory file of huge pages does not
   qualify, since there may be no huge page for it. */
static inline int linux_is_memory_file(int fd, off_t size)
{
    struct stat status;
    struct statfs system;
    int seals = linux_fcntl(fd, F_GET_SEALS, 0);
    return seals >= 0 && (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW) &&
           fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == size &&
           syscall(SYS_fstatfs, fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/* Whether an access to a page of a memory file may fail with SIGBUS for lack of memory: vm.overcommit_memory is 2, or
   cannot be read. With other values, the kernel finds a page or kills a process, as for any memory. */
static inline int linux_accounts_strictly(void)
{
    char mode = '2';
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 1;
    (void)!syscall(SYS_read, fd, &mode, (size_t)1);
    syscall(SYS_close, fd);
    return mode == '2';
}

/* Allocates all pages immediately, or fails. */
static inline int linux_allocate(int fd, off_t size) { return (int)syscall(SYS_fallocate, fd, 0, (off_t)0, size); }

/* Maps a file for sharing; a shim because MAP_FAILED is a macro with a cast. */
static inline void *linux_map(int fd, size_t size)
{
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    return address == MAP_FAILED ? NULL : address;
}
static inline int linux_unmap(void *address, size_t size) { return munmap(address, size); }

static inline void linux_wish_huge_pages(void *memory, size_t size)
{
    syscall(SYS_madvise, memory, size, MADV_HUGEPAGE);
}

#endif
