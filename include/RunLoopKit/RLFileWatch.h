/** @file RLFileWatch.h
 *  Files and directories: a callback on a loop receives what has changed in them.
 *  Examples: examples/file-watch.c
 *
 *  Name the directories, and add the object to a mode of a loop:
 *
 *      const char *paths[] = {"src", "include", NULL};
 *      RLFileWatchRef watch = RLFileWatchCreate(NULL, paths, 0.2, 0, changed, &context);
 *      RLRunLoopAddSource(RLRunLoopGetCurrent(), watch, kRLRunLoopDefaultMode);
 *
 *  The interface resembles that of FSEvents: paths, a latency, flags, and one callback for a batch of events. Each path
 *  is a root. If it is a directory, everything below it is watched, to any depth, including directories that are
 *  created later. Changes since the creation of the object are reported in the order in which they happened, whenever
 *  the loop runs.
 *
 *  Events
 *  ------
 *  An event contains the path of a file or directory and says what happened to it. A program that applies the events to
 *  a list of what existed when the object was created obtains what exists now. It must allow for three things:
 *   - Whatever is found in a newly created directory is reported as created, and may be reported again if it was
 *     created at that moment. Something may be reported as removed that was never reported as created.
 *   - kRLFileWatchMustScan: more has happened at the path or below it than could be reported, for example because the
 *     kernel's queue was full while the loop did not run for a long time, or because directories were renamed faster
 *     than the object could follow. Scan the path again. Events that arrive afterwards may be older than what you see
 *     then.
 *   - kRLFileWatchNotWatched: a directory and everything below it is not watched, and `error` says why. ENOSPC: the
 *     user has no watches left (/proc/sys/fs/inotify/max_user_watches). EEXIST: the directory is watched under another
 *     path, since it is mounted at both, or since a root is a symbolic link to it. This is reported once for each such
 *     directory. From then on nothing below its path is reported, and watching it is not retried until the directory is
 *     renamed, a root disappears, or everything is read again.
 *  Successive changes of the same kind (contents or attributes) are merged into one event if nothing else happened to
 *  the path in between. A file that was written is therefore usually two events, kRLFileWatchModified and, when the
 *  writer closes it, kRLFileWatchClosed.
 *
 *  Watching one file
 *  -----------------
 *  Editors, sed -i and many other programs do not write to a file but replace it: they rename a new file to its path.
 *  If the file itself is the root, it is no longer watched from then on (kRLFileWatchRootChanged), although the object
 *  stays in its loop. To notice each new version, watch the directory of the file, with kRLFileWatchNotRecursive, and
 *  act on events with the path of the file and one of the bits kRLFileWatchClosed, kRLFileWatchRenamed and
 *  kRLFileWatchCreated.
 *
 *  A rename within the roots is one event with both paths. Something that is renamed to a place outside counts as
 *  removed, something that arrives from outside as created, both with kRLFileWatchRenamed. The same is true of the two
 *  ends of a rename that the kernel did not report together, which is rare. An exchange (RENAME_EXCHANGE) is reported
 *  as a rename, or as whatever the kernel reported of it, followed by kRLFileWatchMustScan for both paths; so is a
 *  rename there and immediately back, which the kernel reports in the same way.
 *
 *  Latency
 *  -------
 *  After the first event, further ones are collected for this time, and all are then reported in one callback, since
 *  changes come in bursts. With kRLFileWatchNoDefer the first event is reported at once, and those that follow it
 *  within the latency are collected. A batch of 4096 events does not wait.
 *
 *  What the kernel does not report
 *  -------------------------------
 *  The object is based on inotify(7). This does not see changes made by other machines on a network file system,
 *  writes through mmap(2) or through another name of a file (a hard link) outside the roots, nor file systems that are
 *  mounted over a directory. Of a new hard link it sees the new name, but not that the file has one more, unless the
 *  file is a root. Nor does it see the end of a mount whose file system remains, such as a bind mount or one that is
 *  in use: changes in that file system are reported as before, and changes in the directory under the mount point are
 *  not. A root that is renamed or removed is reported with kRLFileWatchRootChanged, and is no longer watched: create
 *  another object when it exists again. Two changes of a root may be reported late:
 *   - A directory above it was renamed, or the root is a symbolic link that now leads elsewhere: events have the old
 *     paths until a directory is created in the root, or until another root, which contains this one, shows the rename.
 *   - It was removed while a process had it open, or as its current directory: this is reported when that ends, unless
 *     another root contains it.
 *  Symbolic links below a root count as files, and are not followed.
 *
 *  Threads, fork
 *  -------------
 *  An object may be in several loops: each batch is delivered by one of them. In the child of a fork() each object is
 *  invalidated when its loop first serves it, without a callback: the events belong to the parent. */
#ifndef RUNLOOPKIT_RLFILEWATCH_H
#define RUNLOOPKIT_RLFILEWATCH_H
#include <RunLoop/RLRunLoopSource.h>
RL_EXTERN_C_BEGIN

/** Files and directories that are watched: a run loop source. */
typedef RLRunLoopSourceRef RLFileWatchRef;

/** Options for watching; bits. */
enum {
    kRLFileWatchNoDefer = 1UL << 0,     /**< The first event after a pause is reported at once. */
    kRLFileWatchNotRecursive = 1UL << 1 /**< Watch only the roots and what is directly in them. */
};

/** What an event reports; bits. */
enum {
    kRLFileWatchCreated = 1UL << 0,  /**< It appeared at this path. */
    kRLFileWatchRemoved = 1UL << 1,  /**< It is gone from this path, with everything below it. */
    kRLFileWatchRenamed = 1UL << 2,  /**< Alone: from `oldPath` to `path`. With one of the above: to or from outside. */
    kRLFileWatchModified = 1UL << 3, /**< Its contents have changed. */
    kRLFileWatchAttributes = 1UL << 4,   /**< Its mode, owner, times or extended attributes have changed. */
    kRLFileWatchClosed = 1UL << 5,       /**< It was open for writing and was closed: usually it is complete. */
    kRLFileWatchIsDirectory = 1UL << 8,  /**< It is or was a directory. */
    kRLFileWatchMustScan = 1UL << 9,     /**< Anything may have happened at the path, and below. */
    kRLFileWatchNotWatched = 1UL << 10,  /**< Nothing below the path will be reported: see `error`. */
    kRLFileWatchRootChanged = 1UL << 11, /**< A root was removed or renamed, and is no longer watched. */
    kRLFileWatchUnmounted = 1UL << 12    /**< The file system at the path is gone, with everything in it. */
};

/** An event; valid during the callback. */
typedef struct RLFileWatchEvent {
    const char *path;    /**< Absolute: begins with the root as passed, completed by the current directory. */
    const char *oldPath; /**< For a rename within the roots: the previous path. Otherwise NULL. */
    RLOptionFlags flags; /**< Bits: kRLFileWatchCreated, … */
    int error;           /**< With kRLFileWatchNotWatched: an errno value. Otherwise 0. */
} RLFileWatchEvent;

/** Called on the loop's thread. It may invalidate and release the object, and run the loop.
 *  @param watch   the object.
 *  @param count   the number of events, at least 1.
 *  @param events  the events, in the order in which they happened.
 *  @param info    the object's info. */
typedef void (*RLFileWatchCallBack)(RLFileWatchRef watch, RLIndex count, const RLFileWatchEvent *events, void *info);

/** The info of a file watch and the functions that manage it. Every pointer may be NULL. */
typedef struct RLFileWatchContext {
    RLIndex version; /**< 0. */
    void *info;      /**< Passed to the callback. */
    /** Called once, in Create; what it returns is the object's info. NULL: info itself, not retained. */
    const void *(*retain)(const void *info);
    /** Called once, when the object is freed, on the thread that frees it. */
    void (*release)(const void *info);
    /** Describes info for RLCopyDescription(); the library releases the result. */
    RLStringRef (*copyDescription)(const void *info);
} RLFileWatchContext;

/** Creates an object that watches from now on, and delivers the events when it is in a loop.
 *  @param paths    directories or files; not empty, ends with NULL. A symbolic link stands for what it leads to. Events
 *                  of a file that is a root and is also in another root are reported twice.
 *  @param latency  seconds for which events are collected; 0: they are not collected.
 *  @param flags    bits: kRLFileWatchNoDefer, …
 *  @param callout  not NULL.
 *  @param context  copied; NULL: info is NULL.
 *  @return the object, or NULL.
 *  Ownership: info is retained through context.retain until the object is freed.  Re-entrancy: calls context.retain.
 *  Errors: NULL with errno ENOENT, EACCES, … for a path; EEXIST if two roots are the same directory or file; ENOSPC if
 *  there is no watch left for a root; EMFILE, ENFILE, ENOMEM.
 *  Cost: reads all directories below the roots. 100 000 directories took 1.4 s of CPU time and 17 MB, plus about a
 *  kilobyte each in the kernel; an event then took four system calls. Three descriptors until the object is freed. For
 *  a large tree, create the object on another thread, for example with RLWorkCreate(). After the kernel's queue was
 *  full, the loop reads all directories again before it makes the callback. */
RL_EXPORT RLFileWatchRef RLFileWatchCreate(RLAllocatorRef allocator, const char *const *paths, RLTimeInterval latency,
                                           RLOptionFlags flags, RLFileWatchCallBack callout,
                                           const RLFileWatchContext *context);

/** Returns how many kernel watches an object uses: one for each directory, and one for each root that is a file.
 *  @param watch  the object, which may be invalid. */
RL_EXPORT RLIndex RLFileWatchGetWatchCount(RLFileWatchRef watch);

RL_EXTERN_C_END
#endif
