/* Host names. Part of CLinuxKit.h. */
#ifndef CLINUXKIT_HOSTS_H
#define CLINUXKIT_HOSTS_H
#include <netdb.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

/* Copies the fields of a struct addrinfo that getaddrinfo() reads; for NULL, asks for stream sockets. In C because
   socket types are an enum. */
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

/* Returns whether a service is NULL, a valid port in decimal, or anything else that may be a name. */
static inline int linux_may_be_service(const char *service)
{
    if (service == NULL)
        return 1;
    size_t figures = strspn(service, "0123456789");
    if (service[figures] != 0)
        return strchr(" \t\n\v\f\r+-", service[0]) == NULL;
    unsigned port = 0;
    for (size_t i = 0; i < figures && port <= 65535; i++)
        port = port * 10 + (unsigned)(service[i] - '0');
    return figures > 0 && port <= 65535;
}
/* getaddrinfo(), but with EAI_SERVICE for an invalid port, and without being a cancellation point. getaddrinfo() takes
   ports modulo 65536, "" for 0 and " -1" for a port. */
static inline int linux_find_addresses(const char *host, const char *service, const struct addrinfo *hints,
                                       struct addrinfo **answer)
{
    if (!linux_may_be_service(service))
        return EAI_SERVICE;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int error = getaddrinfo(host, service, hints, answer);
    pthread_setcancelstate(state, NULL);
    return error;
}

/* Returns the service, or "0" if it is NULL. In C because Swift's literals are not C strings. */
static inline const char *linux_service(const char *service) { return service != NULL ? service : "0"; }

#endif
