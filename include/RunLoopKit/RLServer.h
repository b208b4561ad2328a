/** @file RLServer.h
 *  Servers: listeners that make a stream of each connection and hand it to the loop.
 *  Examples: examples/echo.c, examples/chat.c, examples/relay.c, examples/rooms.c
 *
 *      RLListenerRef server = RLServerCreateWithHost(NULL, NULL, "8080", accepted, serve, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), server, kRLRunLoopDefaultMode);
 *
 *  For each connection the server creates a stream, as RLStreamCreate() does, with your callback `serve` and your
 *  context. It adds the stream to the loop that accepted the connection and then calls `accepted`, which sets the
 *  stream up before anything is read:
 *
 *      static void accepted(RLListenerRef server, RLStreamRef stream, void *info)
 *      {
 *          RLStreamSetReadDelimiter(stream, "\n", 1, 4096);
 *          RLStreamSetIdleLimit(stream, 30);
 *      }
 *
 *  A server is a listener: RLListenerGetPort(), RLListenerSetEnabled(), RLListenerClose() and all other functions of
 *  RLListener.h apply to it, and what RLListener.h says about shortages, threads and fork() holds. Use RLListener.h
 *  directly for sockets that are not to become streams.
 *
 *  The streams
 *  -----------
 *  The loop keeps the stream, and the program need not, as after RLScheduleSource(): it lives until it is closed. It is
 *  in the mode in which the connection was accepted, and in all other modes of that loop that the server is in,
 *  including the common modes. If several loops share the server, each stream is in the loop that accepted it. Streams
 *  stay when the server is closed. A connection for which there is no memory is closed, and neither callback learns of
 *  it.
 *
 *  Stopping
 *  --------
 *  After RLListenerClose() new clients are refused, and connected ones continue. When the last stream has been closed,
 *  the mode is empty and the run ends, provided that nothing else keeps it running: invalidate signal objects and
 *  timers, too. Set an idle limit for the streams, or give RLRunLoopRunInMode() a time limit, so that no client can
 *  prevent the end. A program that ends all connections at once needs its own list of streams: neither a server nor a
 *  group lists them.
 *
 *  State of a connection
 *  ---------------------
 *  The context is that of the streams. Its `retain` is called for each connection, and its result is the info of that
 *  stream; `release` is called with that info when the stream is freed. So `retain` can allocate what a connection
 *  needs, and `release` can free it. The server itself does not retain info, which must stay valid until the server is
 *  freed. */
#ifndef RUNLOOPKIT_RLSERVER_H
#define RUNLOOPKIT_RLSERVER_H
#include <RunLoopKit/RLListener.h>
#include <RunLoopKit/RLStream.h>
RL_EXTERN_C_BEGIN

/** Called on the loop's thread for each connection, before its stream reads anything. May do anything with the server
 *  and the stream, close them too, and run the loop, which may call it for the next connection.
 *  @param server  the server.
 *  @param stream  the stream of the connection, valid until it is closed; retain it to keep it longer.
 *  @param info    the stream's. */
typedef void (*RLServerCallBack)(RLListenerRef server, RLStreamRef stream, void *info);

/** Creates a server for a listening socket, for instance one that was inherited.
 *  @param descriptor         a stream socket after listen(). It is made non-blocking for every process that shares it.
 *  @param closeOnInvalidate  whether the server closes the descriptor.
 *  @param accepted           sets up each stream; NULL if nothing is to be set up.
 *  @param callout            the streams' callback; NULL: they read only while they are forwarded, and report nothing.
 *                            If its peer leaves, such a stream stays open, unless RLStreamForwardBoth() closes it.
 *  @param context            the streams' context; copied; NULL for an info of NULL.
 *  @return the server, or NULL.
 *  Ownership: info is not retained for the server: see "State of a connection". With closeOnInvalidate the descriptor
 *  belongs to the server; without it, or if the result is NULL, to you.
 *  Re-entrancy: calls context.retain only later, for each connection.
 *  Errors: misuse: a descriptor that does not listen; accepted and callout both NULL.
 *  Cost: some allocations, up to six system calls. A connection costs what RLStreamCreate() and RLRunLoopAddSource()
 *  do. */
RL_EXPORT RLListenerRef RLServerCreate(RLAllocatorRef allocator, int descriptor, RLBoolean closeOnInvalidate,
                                       RLServerCallBack accepted, RLStreamCallBack callout,
                                       const RLStreamContext *context);

/** Creates a server for TCP. The address is as for RLListenerCreateWithHost().
 *  @param host      an address or name of this machine; NULL: all addresses, of IPv6 and IPv4.
 *  @param service   a numeric port, or a name such as "http"; NULL or "0": any free port.
 *  @param accepted  as for RLServerCreate().
 *  @param callout   as for RLServerCreate().
 *  @param context   as for RLServerCreate().
 *  @return the server, or NULL.
 *  Ownership: info is not retained for the server: see "State of a connection".
 *  Re-entrancy: calls context.retain only later, for each connection. A name is looked up during the call, which may
 *  block.
 *  Errors: those of RLListenerCreateWithHost(). Misuse: accepted and callout both NULL.
 *  Cost: that of RLListenerCreateWithHost(). */
RL_EXPORT RLListenerRef RLServerCreateWithHost(RLAllocatorRef allocator, const char *host, const char *service,
                                               RLServerCallBack accepted, RLStreamCallBack callout,
                                               const RLStreamContext *context);

/** Creates a server for a socket in the file system, or for one with an abstract name. The path is handled as by
 *  RLListenerCreateWithPath().
 *  @param path      at most 107 bytes; "@" and a name: an abstract socket, which is not in the file system.
 *  @param accepted  as for RLServerCreate().
 *  @param callout   as for RLServerCreate().
 *  @param context   as for RLServerCreate().
 *  @return the server, or NULL.
 *  Ownership: info is not retained for the server: see "State of a connection".
 *  Re-entrancy: calls context.retain only later, for each connection.
 *  Errors: those of RLListenerCreateWithPath(). Misuse: accepted and callout both NULL.
 *  Cost: that of RLListenerCreateWithPath(). */
RL_EXPORT RLListenerRef RLServerCreateWithPath(RLAllocatorRef allocator, const char *path, RLServerCallBack accepted,
                                               RLStreamCallBack callout, const RLStreamContext *context);

RL_EXTERN_C_END
#endif
