/** @file RLFileWatch.h
 *  Files and directories: a function is called on a loop with what has changed in them.
 *  Examples: examples/file-watch.c
 *
 *  Name the directories, and add the object to a mode of a loop:
 *
 *      const char *paths[] = {"src", "include", NULL};
 *      RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0.2, 0, changed, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
 *
 *  The shape is that of FSEvents: paths, a latency, flags, and one call for a batch of events. Each path is a root. If
 *  it is a directory, everything below it is watched, to any depth, also directories that come to be later. What has
 *  changed since the object was created is told, in the order in which it happened, whenever the loop runs.
 *
 *  Events
 *  ------
 *  An event has the path of a file or directory and says what happened to it. A program that applies the events to a
 *  list of what was there when the object was created has what is there now. It must allow for three things:
 *   - What is found in a directory that has just come to be is told as created, and may be told again if it came to be
 *     at that moment. Something may be told as removed that was never told as created.
 *   - kRLFileWatchMustScan: more has happened at the path or below it than could be told, as when the kernel's queue
 *     was full because the loop did not run for long, or directories were renamed faster than it could follow. Look
 *     there again. Events that come after it may be older than what is seen then.
 *   - kRLFileWatchNotWatched: a directory and what is below it is not watched, and `error` says why. ENOSPC: the user
 *     has no watches left (/proc/sys/fs/inotify/max_user_watches). EEXIST: it is watched under another path, as it is
 *     mounted at both, or as a root is a symbolic link to it. It is told once for each such directory, nothing below
 *     its path is told from then on, and it is not tried again until the directory is renamed, a root is gone, or
 *     everything is read again.
 *  Changes of one file that follow each other are one event if nothing else happened to its path in between.
 *
 *  A rename within the roots is one event with both paths. What is renamed to a place outside is removed, what comes
 *  from outside created, both with kRLFileWatchRenamed; and so are the two ends of a rename that the kernel has not
 *  reported together, which is rare. An exchange (RENAME_EXCHANGE) is a rename, or what the kernel has told of it, and
 *  then kRLFileWatchMustScan for both paths; so is a rename there and back at once, which the kernel tells in the same
 *  way.
 *
 *  Latency
 *  -------
 *  Events are collected for that long after the first, and are then told in one call: changes come in bursts. With
 *  kRLFileWatchNoDefer the first is told at once, and those that follow it within the latency are collected. A batch of
 *  4096 events does not wait.
 *
 *  What the kernel does not tell
 *  -----------------------------
 *  The means is inotify(7). It does not see what other machines do on a network file system, writes through mmap(2) or
 *  through another name of a file (a hard link) that is outside the roots, and file systems that are mounted over a
 *  directory. Nor does it see the end of a mount whose file system stays, as of a bind mount or one that is in use:
 *  what happens in that is told as before, and what happens in the directory that the mount was over is not. A root
 *  that is renamed or removed is told with kRLFileWatchRootChanged, and is not watched any more: create another object
 *  when it is there again. Two changes of a root may be told late:
 *   - A directory above it was renamed, or it is a symbolic link that leads elsewhere now: events have the old paths
 *     until a directory comes to be in the root, or until another root, which contains it, shows the rename.
 *   - It was removed while a process had it open, or as its current directory: it is told when that ends, unless
 *     another root contains it.
 *  Symbolic links below a root are files, and are not followed.
 *
 *  Threads, fork
 *  -------------
 *  An object may be in several loops: each batch is told by one of them. In the child of a fork() the objects are
 *  invalidated when their loop looks at them, without a call: the events are the parent's. */
#ifndef RUNLOOPKIT_RLFILEWATCH_H
#define RUNLOOPKIT_RLFILEWATCH_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** Files and directories that are watched: a run loop source. */
typedef RLRunLoopSourceRef RLFileWatchRef;

/** How to watch; bits. */
enum {
    kRLFileWatchNoDefer = 1UL << 0,     /**< The first event after a while is told at once. */
    kRLFileWatchNotRecursive = 1UL << 1 /**< Only the roots, and what is directly in them. */
};

/** What an event says; bits. */
enum {
    kRLFileWatchCreated = 1UL << 0,  /**< It came to be at this path. */
    kRLFileWatchRemoved = 1UL << 1,  /**< It is no more at this path, and nothing is below it. */
    kRLFileWatchRenamed = 1UL << 2,  /**< Alone: `oldPath` is `path` now. With one of the above: to or from outside. */
    kRLFileWatchModified = 1UL << 3, /**< Its contents have changed. */
    kRLFileWatchAttributes = 1UL << 4,   /**< Its mode, owner, times, links or extended attributes have changed. */
    kRLFileWatchClosed = 1UL << 5,       /**< It was open for writing and was closed: it is complete, as a rule. */
    kRLFileWatchIsDirectory = 1UL << 8,  /**< It is or was a directory. */
    kRLFileWatchMustScan = 1UL << 9,     /**< Anything may have happened at the path, and below. */
    kRLFileWatchNotWatched = 1UL << 10,  /**< Nothing below the path will be told: see `error`. */
    kRLFileWatchRootChanged = 1UL << 11, /**< A root was removed or renamed, and is not watched any more. */
    kRLFileWatchUnmounted = 1UL << 12    /**< The file system at the path is gone, and what was in it. */
};

/** One event; valid during the call. */
typedef struct RLFileWatchEvent {
    const char *path;    /**< Absolute; it begins with a root as it was named, completed by the current directory. */
    const char *oldPath; /**< Of a rename within the roots: the path until then. Otherwise NULL. */
    RLOptionFlags flags; /**< Bits: kRLFileWatchCreated, … */
    int error;           /**< With kRLFileWatchNotWatched: an errno. Otherwise 0. */
} RLFileWatchEvent;

/** Called on the loop's thread. May invalidate and release the object, and run the loop.
 *  @param watch   the object.
 *  @param count   how many events there are, at least 1.
 *  @param events  the events, in the order in which they happened.
 *  @param info    the context's. */
typedef void (*RLFileWatchCallBack)(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info);

/** What is passed to the function. Every pointer may be NULL. */
typedef struct RLFileWatchContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the function. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLFileWatchContext;

/** Creates an object that watches from now on, and tells of it when it is in a loop.
 *  @param paths    ends with NULL, not empty; directories, or files. A symbolic link stands for what it leads to.
 *                  A file that is a root, and is in another root, is told of twice.
 *  @param latency  seconds for which events are collected; 0: none.
 *  @param flags    bits: kRLFileWatchNoDefer, …
 *  @param callout  not NULL.
 *  @param context  copied; NULL for an info of NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno ENOENT, EACCES, … of a path; EEXIST if two roots are one directory, or one file; ENOSPC if
 *  there is no watch for a root; EMFILE, ENFILE, ENOMEM.
 *  Cost: reads all directories below the roots. 100 000 took 1.4 s of processor time and 17 MB, besides a kilobyte each
 *  in the kernel; an event then took four system calls. Three descriptors until the object is freed. For a large tree
 *  create the object on another thread, as by RLWorkCreate(). After the kernel's queue was full the loop reads all of
 *  them again before it makes the call. */
RL_EXPORT RLFileWatchRef RLFileWatchCreate(RLAllocatorRef allocator, const char *const *paths, RLTimeInterval latency,
                                           RLOptionFlags flags, RLFileWatchCallBack callout,
                                           const RLFileWatchContext *context);

/** Returns how many watches of the kernel an object has: one for each directory, and for each root that is a file.
 *  @param watch  also an invalid one. */
RL_EXPORT RLIndex RLFileWatchGetWatchCount(RLFileWatchRef watch);

RL_EXTERN_C_END
#endif
