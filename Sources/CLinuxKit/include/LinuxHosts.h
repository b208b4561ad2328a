/* Names of hosts. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_HOSTS_H
#define CLINUXKIT_HOSTS_H
#include <netdb.h>
#include <stddef.h>
#include <sys/socket.h>

/* Of a struct addrinfo only what getaddrinfo() reads. The types of sockets are an enum. */
static inline struct addrinfo linux_hints(const struct addrinfo *wanted)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    if (wanted != NULL) {
        hints.ai_flags = wanted->ai_flags;
        hints.ai_family = wanted->ai_family;
        hints.ai_socktype = wanted->ai_socktype;
        hints.ai_protocol = wanted->ai_protocol;
    }
    return hints;
}

#endif
