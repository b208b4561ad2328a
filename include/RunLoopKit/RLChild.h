/** @file RLChild.h
 *  Child processes: a callback on a loop when a child has ended; starting children, with pipes.
 *  Examples: examples/children.c
 *
 *  Start a program, and add the object to a mode of a loop:
 *
 *      const char *arguments[] = {"sort", NULL};
 *      RLChildSpawnOptions options = {.program = "sort", .arguments = arguments, .flags = kRLChildSearchPath,
 *                                     .input = kRLChildPipe, .output = kRLChildPipe};
 *      RLChildRef child = RLChildCreateBySpawning(NULL, &options, callout, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), child, kRLRunLoopDefaultMode);
 *
 *  or create the object for a child that was started in another way, by fork(), posix_spawn() or a library:
 *  RLChildCreate(). It makes no difference if the child has already ended, as long as nothing has waited for it.
 *
 *  The callback is called once. By then the child has been waited for, so it leaves no zombie, and the object is
 *  invalid, so its loops may finish. An object that is invalidated or freed earlier does not wait for its child. The
 *  child continues to run; when it ends, the program must wait for it, as for any child.
 *
 *  Beside other code that has children
 *  -----------------------------------
 *  The kit waits only for the children that it was given, one by one, and never for "any child"; it does not use
 *  SIGCHLD. If another part of the program waits for all children (waitpid(-1)), or if SIGCHLD is ignored, in which
 *  case the kernel keeps no status, the callback is called as well, with kRLChildLost as the end.
 *
 *  Pipes
 *  -----
 *  The program's ends of the pipes are non-blocking descriptors that other programs do not inherit. RLChildCreatePipe()
 *  creates a descriptor object (RLFileDescriptor.h) for such an end, which closes it when it is invalidated. Ends for
 *  which no object was created are closed with the child object. Pipes and child end independently of each other: what
 *  the child has written may be read after it has ended, and a grandchild may keep a pipe open.
 *
 *  To read whole lines, use a stream (RLStream.h) and a pipe of your own:
 *
 *      pipe2(ends, O_CLOEXEC);                                 set options.output = ends[1], and start the child
 *      close(ends[1]);                                         or the end of the output is never seen
 *      RLStreamCreate(NULL, ends[0], 1, line, NULL)
 *
 *  Threads, fork
 *  -------------
 *  An object may be in several loops: one of them makes the callback. In the child of a fork() each object is
 *  invalidated when its loop first serves it, without a callback: the process that it stands for is not a child of that
 *  process. Requires Linux 5.4 or later. */
#ifndef RUNLOOPKIT_RLCHILD_H
#define RUNLOOPKIT_RLCHILD_H
#include <RunLoop/RLFileDescriptor.h>
RL_EXTERN_C_BEGIN

/** A child process that is watched: a run loop source. */
typedef RLRunLoopSourceRef RLChildRef;

/** How a child ended: one of the constants below. */
typedef int32_t RLChildEnd;
/** The ways in which a child ends. */
enum {
    kRLChildExited = 1, /**< By exit() or a return from main(): status is the exit status. */
    kRLChildKilled = 2, /**< By a signal: status is its number. */
    kRLChildDumped = 3, /**< By a signal, and it left a core file: status is the signal's number. */
    kRLChildLost = 4    /**< It has ended, but another part of the program has waited for it: status is 0. */
};

/** The status of a child that has ended. */
typedef struct RLChildStatus {
    RLIndex version;           /**< 0. The caller of RLChildGetStatus() sets it. */
    int process;               /**< The child's process ID; it may already belong to another process. */
    RLChildEnd end;            /**< How it ended: kRLChild… */
    int status;                /**< The exit status, or the number of the signal. */
    RLTimeInterval userTime;   /**< CPU time in seconds, including that of children it waited for. */
    RLTimeInterval systemTime; /**< CPU time in the kernel, in seconds. */
    int64_t peakMemory;        /**< The largest amount of memory that it used at one time, in bytes. */
    const void *rusage;        /**< All that the kernel reports: a struct rusage; valid as long as the object. */
} RLChildStatus;

/** Called once, on the loop's thread, after the child has ended. It may release the object and run the loop.
 *  @param child   the object, which is invalid.
 *  @param status  how the child ended; valid during the callback.
 *  @param info    the object's info. */
typedef void (*RLChildCallBack)(RLChildRef child, const RLChildStatus *status, void *info);

/** The info of a child object and the functions that manage it. Every pointer may be NULL. */
typedef struct RLChildContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLChildContext;

/** Options for starting a program; bits. */
enum {
    kRLChildSearchPath = 1UL << 0,      /**< `program` is searched for in $PATH, unless it contains a slash. */
    kRLChildNewProcessGroup = 1UL << 1, /**< It leads a new process group: kill(-process) reaches all of it. */
    kRLChildNewSession = 1UL << 2       /**< It leads a new session and process group, without a terminal. */
};

/** What a child gets as its descriptors 0, 1 and 2. Any number above 0 is one of your descriptors, of which the child
 *  gets a duplicate. */
enum {
    kRLChildInherit = 0, /**< The descriptor that this process has there. */
    kRLChildPipe = -1,   /**< One end of a new pipe; RLChildCreatePipe() returns the other. */
    kRLChildNull = -2,   /**< /dev/null. */
    kRLChildOutput = -3  /**< For `error` only: what the child gets as its output. */
};

/** What RLChildCreateBySpawning() starts. Set fields that you do not need to 0. */
typedef struct RLChildSpawnOptions {
    RLIndex version;                /**< 0. */
    const char *program;            /**< Its path, relative to `directory`, or its name. Not NULL. */
    const char *const *arguments;   /**< Ends with NULL; the first becomes argv[0]. Not NULL. */
    const char *const *environment; /**< `NAME=value`, ends with NULL; NULL: this process's. */
    const char *directory;          /**< Its working directory; NULL: that of this process. */
    RLOptionFlags flags;            /**< Bits: kRLChildSearchPath, … */
    int input;                      /**< Its descriptor 0: a descriptor, or kRLChildInherit, … */
    int output;                     /**< Its descriptor 1. */
    int error;                      /**< Its descriptor 2. */
} RLChildSpawnOptions;

/** Creates an object for a child of this process, which may have ended but must not have been waited for.
 *  @param process  its process ID, as fork() returned it.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed. The object waits for the child when
 *  the child has ended: do not do so yourself while the object is valid.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno ESRCH or ECHILD if process is not a child of this process, or was waited for; EMFILE,
 *  ENFILE, ENOMEM; ENOSYS before Linux 5.4. A number that is not positive is misuse.
 *  Cost: an allocation in addition to the source; five system calls, two descriptors until the object is freed. */
RL_EXPORT RLChildRef RLChildCreate(RLAllocatorRef allocator, int process, RLChildCallBack callout,
                                   const RLChildContext *context);

/** Starts a program, and creates an object for it.
 *  The program begins with no signals blocked or ignored. As with exec(), it inherits the descriptors that are not
 *  close-on-exec; none of the library's descriptors is among them.
 *  @param options  not NULL; copied.
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL; then no program was started.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with the errno of posix_spawn() or open(): ENOENT if there is no such program, EACCES, E2BIG, EAGAIN if
 *  there are too many processes, EMFILE, ENOMEM, …; EBADF for a descriptor that is not open; ENOSYS before Linux 5.4.
 *  If another thread uses up the descriptors at the wrong moment, the program has already been started, and is killed.
 *  Cost: that of posix_spawn(); two descriptors until the object is freed, and one for each pipe. */
RL_EXPORT RLChildRef RLChildCreateBySpawning(RLAllocatorRef allocator, const RLChildSpawnOptions *options,
                                             RLChildCallBack callout, const RLChildContext *context);

/** Returns the process ID of the child, also after it has ended. */
RL_EXPORT int RLChildGetProcess(RLChildRef child);

/** Returns whether the callback of an object was called, or is being called, and if so copies the child's status.
 *  @param status  filled if the result is 1; may be NULL. Set its version to 0 before the call: this determines how
 *                 large the struct is, and no more is written.
 *  Ownership: status->rusage is valid as long as the object.  Errors: another version is misuse; the result is 0. */
RL_EXPORT RLBoolean RLChildGetStatus(RLChildRef child, RLChildStatus *status);

/** Sends a signal to a child. Unlike kill() it never reaches another process, even when the child has ended.
 *  @param signal  such as SIGTERM; 0 only checks whether there is a child to send a signal to.
 *  @return 1, or 0 if nothing was sent.
 *  Errors: 0 with errno ESRCH after the child was waited for; EPERM; EINVAL if there is no such signal.
 *  Cost: one system call. */
RL_EXPORT RLBoolean RLChildSendSignal(RLChildRef child, int signal);

/** Creates a descriptor object for the program's end of a pipe that a child was started with.
 *  @param descriptor  the child's descriptor: 0, for the pipe to which you write, or 1 or 2, for those from which you
 *                     read.
 *  @param callout     the callback; may be NULL: see RLFileDescriptorCreate().
 *  @param context     copied; NULL: info is NULL.
 *  @return the object, which closes the pipe when it is invalidated; or NULL.
 *  Ownership: info is retained through context.retain until the object is invalidated.
 *  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno EBADF if the child has no pipe there, or if an object was already created for it. */
RL_EXPORT RLFileDescriptorRef RLChildCreatePipe(RLChildRef child, int descriptor, RLFileDescriptorCallBack callout,
                                                const RLFileDescriptorContext *context);

RL_EXTERN_C_END
#endif
