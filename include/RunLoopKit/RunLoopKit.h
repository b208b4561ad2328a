/** @file RunLoopKit.h
 *  The kit: everyday events for run loops. Includes every header of librunloop-kit. Link with -lrunloop-kit -lrunloop.
 *
 *      RLSignal.h  signals of the system as callbacks
 *      RLChild.h   child processes: a callback when they end, starting them with pipes
 *      RLWorkers.h functions that may block, on threads of their own
 *      RLHostResolve.h  addresses of hosts, looked up by workers
 *      RLListener.h  sockets that accept connections
 *      RLServer.h  listeners that make a stream of each connection
 *      RLStream.h  bytes through a descriptor: queued writing, reading by lines or lengths
 *      RLStreamGroup.h   groups of streams, to which one call writes
 *      RLStreamFilter.h  layers between a stream and its descriptor; adapters/openssl.h: TLS
 *      RLFileWatch.h  changes of files and directories
 *      RLSchedule.h  sources that the loop keeps, and not the program
 *
 *  Every object of the kit is a run loop source (RLRunLoopSource.h): RLRunLoopAddSource() adds it to a mode of a loop,
 *  RLRunLoopSourceInvalidate() ends it, RLRetain() and RLRelease() count its references, RLCopyDescription() describes
 *  it. The kit uses only public functions of librunloop, so its objects behave like every other source: they keep their
 *  modes from being empty, unless RLRunLoopSourceSetKeepsModeRunning() says otherwise, their callbacks are called on
 *  the loop's thread, and they are removed from a loop whose thread exits.
 *
 *  What RLBase.h promises under "What every function promises" and "Misuse and failures" holds here, too. */
#ifndef RUNLOOPKIT_RUNLOOPKIT_H
#define RUNLOOPKIT_RUNLOOPKIT_H
#include <RunLoop/RunLoop.h>
#include <RunLoopKit/RLChild.h>
#include <RunLoopKit/RLFileWatch.h>
#include <RunLoopKit/RLHostResolve.h>
#include <RunLoopKit/RLListener.h>
#include <RunLoopKit/RLSchedule.h>
#include <RunLoopKit/RLServer.h>
#include <RunLoopKit/RLSignal.h>
#include <RunLoopKit/RLStream.h>
#include <RunLoopKit/RLStreamFilter.h>
#include <RunLoopKit/RLStreamGroup.h>
#include <RunLoopKit/RLWorkers.h>
#endif
