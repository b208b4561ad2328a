/** @file RLHostResolve.h
 *  Host names: their addresses are looked up by workers and delivered to a callback on a loop.
 *  Examples: examples/resolve.c
 *
 *  getaddrinfo() blocks for as long as the network takes. Here it runs on a worker thread (RLWorkers.h):
 *
 *      RLHostResolveRef resolve = RLHostResolveCreate(NULL, "localhost", "http", NULL, 5, resolved, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), resolve, kRLRunLoopDefaultMode);
 *      RLWorkersSubmit(workers, resolve);
 *
 *  The object is a work: RLWorkCancel() or RLRunLoopSourceInvalidate() cancels it, and it is invalid when its callback
 *  is called, which happens once. Each of the addresses can be passed to RLSocketConnectToAddress().
 *
 *  When the time limit is reached, the callback is called without addresses, but the thread continues: getaddrinfo()
 *  cannot be interrupted, so releasing the workers waits for it. The time limit begins when the object is added to a
 *  loop while it is in none, and includes waiting for a thread. */
#ifndef RUNLOOPKIT_RLHOSTRESOLVE_H
#define RUNLOOPKIT_RLHOSTRESOLVE_H
#include <RunLoopKit/RLWorkers.h>

struct addrinfo;
RL_EXTERN_C_BEGIN

/** An address lookup: a work. */
typedef RLWorkRef RLHostResolveRef;

/** An error for which getaddrinfo() has no number. */
enum { kRLHostResolveTimedOut = 1 /**< The time limit was reached before the addresses were known. */ };

/** Called once, on the loop's thread. It may release the object and run the loop.
 *  @param resolve    the object, which is invalid.
 *  @param addresses  an array of data (RLData.h), each a struct sockaddr, in the order in which to try them; NULL if
 *                    there is an error. Valid during the callback: retain it to keep it.
 *  @param error      0; EAI_NONAME or another error of getaddrinfo(), for gai_strerror(); or kRLHostResolveTimedOut.
 *  @param info       the object's info. */
typedef void (*RLHostResolveCallBack)(RLHostResolveRef resolve, RLArrayRef addresses, int error, void *info);

/** Creates an object that looks up the addresses of a host. Add it to a loop, then submit it to workers.
 *  @param host     its name or numeric address; NULL: this machine. Copied.
 *  @param service  a name such as "http", or a port number; NULL: the addresses have port 0. Copied.
 *  @param hints    as for getaddrinfo(): the family, the type of socket, flags; copied. NULL: stream sockets of any
 *                  family.
 *  @param timeout  time limit in seconds to wait; HUGE_VAL, or 1e10 and more: no limit.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: host and service both NULL is misuse. If there is no memory for a timer when the object is added to a loop,
 *  this is reported, and there is no time limit in that loop until the object is added again.  Cost: a few allocations
 *  in addition to the source; a timer in each loop. */
RL_EXPORT RLHostResolveRef RLHostResolveCreate(RLAllocatorRef allocator, const char *host, const char *service,
                                               const struct addrinfo *hints, RLTimeInterval timeout,
                                               RLHostResolveCallBack callout, const RLWorkContext *context);

RL_EXTERN_C_END
#endif
