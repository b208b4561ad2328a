/** @file RLHostResolve.h
 *  Names of hosts: their addresses, looked up by workers, as a call on a loop.
 *  Examples: examples/resolve.c
 *
 *  getaddrinfo() blocks for as long as the network takes. Here it runs on a thread of workers (RLWorkers.h):
 *
 *      RLHostResolveRef resolve = RLHostResolveCreate(NULL, "localhost", "http", NULL, 5, resolved, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), resolve, kRLRunLoopDefaultMode);
 *      RLWorkersSubmit(workers, resolve);
 *
 *  The object is a work: RLWorkCancel() or RLRunLoopSourceInvalidate() cancels it, and it is invalid when its function
 *  is called, which happens once. Each of the addresses is what RLSocketConnectToAddress() takes.
 *
 *  When its time is over, the function is called without addresses, and the thread goes on: getaddrinfo() cannot be
 *  interrupted, so releasing the workers waits for it. The time counts from when the object is added to a loop, the
 *  first if there are several, and includes waiting for a thread. */
#ifndef RUNLOOPKIT_RLHOSTRESOLVE_H
#define RUNLOOPKIT_RLHOSTRESOLVE_H
#include <RunLoopKit/RLWorkers.h>

struct addrinfo;
RL_EXTERN_C_BEGIN

/** Addresses that are looked up: a work. */
typedef RLWorkRef RLHostResolveRef;

/** What getaddrinfo() has no number for. */
enum { kRLHostResolveTimedOut = 1 /**< The time was over before the addresses were known. */ };

/** Called once, on the loop's thread. May release the object, and run the loop.
 *  @param resolve    the object, which is invalid.
 *  @param addresses  an array of data (RLData.h), each a struct sockaddr, in the order in which they are to be tried;
 *                    NULL if there is an error. Valid during the call: retain it to keep it.
 *  @param error      0; EAI_NONAME or another number of getaddrinfo(), for gai_strerror(); kRLHostResolveTimedOut.
 *  @param info       the context's. */
typedef void (*RLHostResolveCallBack)(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info);

/** Creates an object for the addresses of a host. Add it to a loop, then hand it to workers.
 *  @param host     its name, or its address in figures; NULL: this machine. Copied.
 *  @param service  a name such as "http", or a port in figures; NULL: the addresses have port 0. Copied.
 *  @param hints    as for getaddrinfo(): the family, the type of socket, flags; copied. NULL: stream sockets of any
 *                  family.
 *  @param timeout  seconds to wait at most; HUGE_VAL, or 1e10 and more: for ever.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: host and service both NULL is misuse. If there is no memory for a timer when it is added to a loop, the
 *  object waits for ever.  Cost: a few allocations besides the source; a timer while it is in a loop. */
RL_EXPORT RLHostResolveRef RLHostResolveCreate(RLAllocatorRef allocator, const char *host, const char *service,
                                               const struct addrinfo *hints, RLTimeInterval timeout,
                                               RLHostResolveCallBack callout, const RLWorkContext *context);

RL_EXTERN_C_END
#endif
