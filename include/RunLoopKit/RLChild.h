/** @file RLChild.h
 *  Child processes: a function is called on a loop when a child has ended; starting one with pipes.
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
 *  RLChildCreate(). It makes no difference whether that has ended before, as long as nothing has waited for it.
 *
 *  The function is called once. The child has been waited for then, so that nothing is left of it, and the object is
 *  invalid: its loops may finish. An object that is invalidated or freed earlier does not wait for its child, which
 *  goes on; when it ends, it remains for a wait of the program's, as every child does.
 *
 *  Beside other code that has children
 *  -----------------------------------
 *  The kit waits for the children that it was given, one by one, and never for "any child"; it uses no SIGCHLD. If
 *  another part of the program waits for all children (waitpid(-1)), or if SIGCHLD is ignored, in which case the kernel
 *  keeps no status, the function is called as well, and is told that the status is lost.
 *
 *  Pipes
 *  -----
 *  The program's ends of pipes are descriptors that do not block, and that other programs do not inherit.
 *  RLChildCreatePipe() makes a descriptor object (RLFileDescriptor.h) of one, which closes it when it is invalidated.
 *  Those that were not asked for are closed with the object. Pipes and child end independently of each other: what the
 *  child has written may be read after its end, and a grandchild may keep a pipe open.
 *
 *  Threads, fork
 *  -------------
 *  An object may be in several loops: one of them calls. In the child of a fork() the objects are invalidated when
 *  their loop looks at them, without a call: what they stand for is not that process's child. Linux 5.4 or later. */
#ifndef RUNLOOPKIT_RLCHILD_H
#define RUNLOOPKIT_RLCHILD_H
#include <RunLoop/RLFileDescriptor.h>
RL_EXTERN_C_BEGIN

/** A child process that is watched: a run loop source. */
typedef RLRunLoopSourceRef RLChildRef;

/** How a child has ended: one of the constants below. */
typedef int32_t RLChildEnd;
/** The ways in which a child ends. */
enum {
    kRLChildExited = 1, /**< By exit() or a return from main(): status is the exit status. */
    kRLChildKilled = 2, /**< By a signal: status is its number. */
    kRLChildDumped = 3, /**< By a signal, and it left a core file: status is the signal's number. */
    kRLChildLost = 4    /**< It has ended, but another part of the program has waited for it: status is 0. */
};

/** What is known of a child that has ended. */
typedef struct RLChildStatus {
    int process;               /**< The child. Its number may be another process's by now. */
    RLChildEnd end;            /**< How it has ended: kRLChild… */
    int status;                /**< The exit status, or the number of the signal. */
    RLTimeInterval userTime;   /**< Processor time in seconds, with that of children it has waited for. */
    RLTimeInterval systemTime; /**< Processor time in the kernel, in seconds. */
    int64_t peakMemory;        /**< The largest amount of memory that it had at once, in bytes. */
    const void *rusage;        /**< All that the kernel knows: a struct rusage; valid as long as the object. */
} RLChildStatus;

/** Called once, on the loop's thread, after the child has ended. May release the object, and run the loop.
 *  @param child   the object, which is invalid.
 *  @param status  valid during the call.
 *  @param info    the context's. */
typedef void (*RLChildCallBack)(RLChildRef child, const RLChildStatus *status, void *info);

/** What is passed to the function. Every pointer may be NULL. */
typedef struct RLChildContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLChildContext;

/** How a program is started; bits. */
enum {
    kRLChildSearchPath = 1UL << 0,      /**< `program` is looked for in $PATH, unless it has a slash. */
    kRLChildNewProcessGroup = 1UL << 1, /**< It leads a process group of its own: kill(-process) reaches all of it. */
    kRLChildNewSession = 1UL << 2       /**< It leads a session and group of its own, without a terminal. */
};

/** What a child gets as its descriptors 0, 1 and 2; any number above 0 is a descriptor of yours, which it gets a
 *  duplicate of. */
enum {
    kRLChildInherit = 0, /**< What this process has there. */
    kRLChildPipe = -1,   /**< An end of a new pipe: RLChildCreatePipe() has the other. */
    kRLChildNull = -2,   /**< /dev/null. */
    kRLChildOutput = -3  /**< For `error` alone: what it gets as its output. */
};

/** What RLChildCreateBySpawning() starts. Set what you do not need to 0. */
typedef struct RLChildSpawnOptions {
    RLIndex version;                /**< 0. */
    const char *program;            /**< Its path, which counts from `directory`, or its name. Not NULL. */
    const char *const *arguments;   /**< Ends with NULL; the first is the program's name for itself. Not NULL. */
    const char *const *environment; /**< `NAME=value`, ends with NULL; NULL: this process's. */
    const char *directory;          /**< Where it starts; NULL: where this process is. */
    RLOptionFlags flags;            /**< Bits: kRLChildSearchPath, … */
    int input;                      /**< Its descriptor 0: a descriptor, or kRLChildInherit, … */
    int output;                     /**< Its descriptor 1. */
    int error;                      /**< Its descriptor 2. */
} RLChildSpawnOptions;

/** Creates an object for a child of this process, which may have ended, but was not waited for.
 *  @param process  its number, as fork() returned it.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed. The object waits for the child when it
 *  has ended: do not do so yourself while the object is valid.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno ESRCH or ECHILD if there is no such child: none of this process's, or it was waited for;
 *  EMFILE, ENFILE, ENOMEM; ENOSYS before Linux 5.4. A number that is not positive is misuse.
 *  Cost: an allocation besides the source; five system calls, two descriptors until the object is freed. */
RL_EXPORT RLChildRef RLChildCreate(RLAllocatorRef allocator, int process, RLChildCallBack callout,
                                   const RLChildContext *context);

/** Starts a program, and creates an object for it.
 *  The program begins with no signal blocked or ignored. It inherits the descriptors that are not close-on-exec, as
 *  with exec(); no descriptor of the library is among them.
 *  @param options  not NULL; copied.
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL; then no program runs.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno as posix_spawn() and open() have it: ENOENT if there is no such program, EACCES, E2BIG,
 *  EAGAIN if there are too many processes, EMFILE, ENOMEM, …; EBADF for a descriptor that is not open; ENOSYS before
 *  Linux 5.4. If the descriptors are used up by another thread at the wrong moment, the program was started, and is
 *  killed.
 *  Cost: that of posix_spawn(); a descriptor for the child, and one for each pipe. */
RL_EXPORT RLChildRef RLChildCreateBySpawning(RLAllocatorRef allocator, const RLChildSpawnOptions *options,
                                             RLChildCallBack callout, const RLChildContext *context);

/** Returns the number of the child, also after its end. */
RL_EXPORT int RLChildGetProcess(RLChildRef child);

/** Returns whether the function of an object was called, or is being called, and copies what is known of the child's
 *  end then.
 *  @param status  filled if the result is 1; may be NULL.
 *  Ownership: status->rusage is valid as long as the object. */
RL_EXPORT RLBoolean RLChildGetStatus(RLChildRef child, RLChildStatus *status);

/** Sends a signal to a child. Never reaches another process, as kill() may when the child has ended.
 *  @param signal  such as SIGTERM; 0 only asks whether there is a child to send it to.
 *  @return 1, or 0 if nothing was sent.
 *  Errors: 0 with errno ESRCH after the child was waited for; EPERM; EINVAL if there is no such signal.
 *  Cost: one system call. */
RL_EXPORT RLBoolean RLChildSendSignal(RLChildRef child, int signal);

/** Creates a descriptor object for the other end of a pipe that a child was started with.
 *  @param descriptor  of the child: 0, whose pipe you write to, or 1 or 2, whose pipes you read.
 *  @param callout     called when an enabled callback fires; may be NULL: see RLFileDescriptorCreate().
 *  @param context     copied; NULL for an info of NULL.
 *  @return the object, which closes the pipe when it is invalidated; or NULL.
 *  Ownership: info is retained through context.retain until the object is invalidated.
 *  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno EBADF if the child has no pipe there, or an object was made of it before. */
RL_EXPORT RLFileDescriptorRef RLChildCreatePipe(RLChildRef child, int descriptor, RLFileDescriptorCallBack callout,
                                                const RLFileDescriptorContext *context);

RL_EXTERN_C_END
#endif
