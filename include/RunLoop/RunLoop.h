/** @file RunLoop.h
 *  Apple-style run loops for C on Linux: includes every public header. Link with -lrunloop.
 *
 *      RLBase.h             objects, ownership, errors, time: read this first
 *      RLRunLoop.h          loops, modes, running: the main page, with the differences from CFRunLoop
 *      RLRunLoopSource.h    input, from other threads or from file descriptors
 *      RLRunLoopTimer.h     functions called at a given time
 *      RLRunLoopObserver.h  functions called at fixed points of the loop
 *      RLRunLoopPerform.h   functions called on another thread's loop
 *      RLFileDescriptor.h   functions called when a descriptor becomes readable or writable
 *      RLSocket.h           sockets: data, clients and connections delivered to callbacks
 *      RLPort.h             ports: messages from thread to thread
 *      RLPortMessage.h      the messages that are sent to ports
 *      RLMessagePort.h      requests and replies by name, within a process and between processes
 *      RLMessagePortRequest.h  the requests themselves, deferred replies, credentials
 *      RLRunLoopDispatch.h  libdispatch's main queue on the main loop
 *      RLRunLoopGuest.h     a run loop inside another event loop
 *      RLRunLoopProbe.h     what all loops of the process do, for tracers
 *      RLNotificationCenter.h  events announced by name within the process
 *      RLString.h RLData.h RLArray.h RLSet.h RLDictionary.h RLNumber.h RLDate.h  values
 *
 *  The names are those of CFRunLoop with RL in place of CF, and so are the parameters, structs and constants. Source
 *  code written for CFRunLoop compiles with the headers in CoreFoundation/, which declare CF's names for the same
 *  functions. Every header can be included alone, in C99 or later and in C++11 or later.
 *
 *  CF has no counterpart of the functions of RLPort.h, RLPortMessage.h, RLRunLoopProbe.h, RLRunLoopGuest.h and
 *  RLRunLoopDispatch.h, of RLRunLoopPerform.h except for RLRunLoopPerformBlock(), of RLMessagePortRequest.h except for
 *  RLMessagePortSendRequest(), and of these: RLGetVersion, RLSetErrorHandler, RLReportError, RLRunLoopGetSpinInterval,
 *  RLRunLoopSetSpinInterval, RLRunLoopSourceSetKeepsModeRunning, RLRunLoopTimerSetKeepsModeRunning,
 *  RLRunLoopTimerCreateRearmable, RLRunLoopTimerCreateWithDelay, RLRunLoopTimerSetNextFireDelay, RLRunLoopIsIdleInMode,
 *  RLSocketSendBytes, RLStringGetByteCount, RLStringMakeConstant, RLMessagePortCreateRemoteOfUser,
 *  RLMessagePortGetNameOwner, RLMessagePortGetCapacity, RLMessagePortSetCapacity, RLMessagePortAllowsOtherUsers,
 *  RLMessagePortSetAllowsOtherUsers.
 *
 *  The labels below a function (Ownership, Thread, Re-entrancy, Errors, Cost) state only where it differs from what
 *  every function promises: RLBase.h, "What every function promises". */
#ifndef RUNLOOP_RUNLOOP_H
#define RUNLOOP_RUNLOOP_H
#include <RunLoop/RLArray.h>
#include <RunLoop/RLBase.h>
#include <RunLoop/RLData.h>
#include <RunLoop/RLDate.h>
#include <RunLoop/RLDictionary.h>
#include <RunLoop/RLFileDescriptor.h>
#include <RunLoop/RLMessagePort.h>
#include <RunLoop/RLMessagePortRequest.h>
#include <RunLoop/RLNotificationCenter.h>
#include <RunLoop/RLNumber.h>
#include <RunLoop/RLPort.h>
#include <RunLoop/RLPortMessage.h>
#include <RunLoop/RLRunLoop.h>
#include <RunLoop/RLRunLoopDispatch.h>
#include <RunLoop/RLRunLoopGuest.h>
#include <RunLoop/RLRunLoopObserver.h>
#include <RunLoop/RLRunLoopPerform.h>
#include <RunLoop/RLRunLoopProbe.h>
#include <RunLoop/RLRunLoopSource.h>
#include <RunLoop/RLRunLoopTimer.h>
#include <RunLoop/RLSet.h>
#include <RunLoop/RLSocket.h>
#include <RunLoop/RLString.h>
#endif
