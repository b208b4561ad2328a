/* What librunloop.a needs from glibc and musl does not have. A program that is linked with musl compiles this file, too:
 *
 *     musl-gcc -idirafter /usr/local/include program.c /usr/local/share/runloop/musl.c /usr/local/lib/librunloop.a -static
 *
 * The static library is compiled with glibc's headers. The structs that it passes to libc (mutexes, thread attributes, msghdr, stat,
 * epoll_event) have the same layout in both on 64-bit machines. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

/* glibc sets this while there is one thread, and the library then omits some locks. musl does not, so this stays 0. */
char __libc_single_threaded = 0;

/* The function that the macro CMSG_NXTHDR of glibc's headers calls. */
struct cmsghdr *__cmsg_nxthdr(struct msghdr *message, struct cmsghdr *header) { return CMSG_NXTHDR(message, header); }

/* The functions that glibc's headers call if _FORTIFY_SOURCE is defined. `size` is that of the memory; `count` must not be
 * greater. */
int __vsnprintf_chk(char *bytes, size_t count, int flag, size_t size, const char *format, va_list arguments)
{
    (void)flag;
    if (size < count)
        abort();
    return vsnprintf(bytes, count, format, arguments);
}

int __snprintf_chk(char *bytes, size_t count, int flag, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int result = __vsnprintf_chk(bytes, count, flag, size, format, arguments);
    va_end(arguments);
    return result;
}
