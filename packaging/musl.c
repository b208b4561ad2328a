/* What librunloop.a needs from glibc and musl does not have. A program that is linked with musl compiles this file, too:
 *
 *     musl-gcc -idirafter /usr/local/include program.c /usr/local/share/runloop/musl.c /usr/local/lib/librunloop.a -static
 *
 * The static library is compiled with glibc's headers. The structs that it passes to libc (mutexes, thread attributes, msghdr, stat,
 * epoll_event) have the same layout in both on 64-bit machines. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>

/* glibc sets this while there is one thread, and the library then omits some locks. musl does not, so this stays 0. */
char __libc_single_threaded = 0;

/* The function that the macro CMSG_NXTHDR of glibc's headers calls. */
struct cmsghdr *__cmsg_nxthdr(struct msghdr *message, struct cmsghdr *header) { return CMSG_NXTHDR(message, header); }

/* Swift's runtime can seed its hashes with this. Before the kernel has random bytes, getrandom() waits for them. */
void arc4random_buf(void *bytes, size_t count)
{
    for (unsigned char *next = bytes; count > 0;) {
        ssize_t got = getrandom(next, count, 0);
        if (got < 0)
            abort();
        next += got;
        count -= (size_t)got;
    }
}
