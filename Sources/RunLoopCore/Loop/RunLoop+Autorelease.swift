import CLinux

// End of a pass, and step 6: releasing the objects of RLAutorelease. The loop's thread.

extension RunLoopStorage {
    /// RLRelease. Calls user code.
    typealias ReleaseFunction = @convention(c) (UnsafeRawPointer?) -> Void

    /// A release callback may autorelease something each time it is called. So one drain releases at most this many objects, plus
    /// `releasesPerObject` for each object that was there when it began.
    fileprivate static var releasesPerDrain: Int { 1_000 }
    fileprivate static var releasesPerObject: Int { 100 }
    /// The bound at the end of the thread, in drains.
    fileprivate static var drainsAtExit: Int { 10 }
}

extension RunLoopPointer {
    /// RLAutorelease: takes over a reference of the caller's. False with ENOMEM: then the reference is still the caller's. Amortised O(1).
    func autorelease(_ object: UnsafeRawPointer, by release: @escaping RunLoopStorage.ReleaseFunction) -> Bool {
        let hasRoom = locked { pointee.autoreleased.append(object) }
        guard hasRoom else {
            systemError = ENOMEM
            return false
        }
        pointee.releaseObject = release
        pointee.activation.autoreleasedCount += 1
        return true
    }

    /// A pass ends, or the loop is about to sleep in it. One load if there is nothing to release; otherwise calls user code. Objects left
    /// over by a bounded drain are released in the next pass, which begins at once, so that other work gets its turn in between.
    func releaseAutoreleasedInPass() {
        if pointee.activation.autoreleasedCount != 0 { drainInPass() }
    }

    /// The rest of `releaseAutoreleasedInPass`.
    @inline(never)
    private func drainInPass() {
        releaseAutoreleased()
        if pointee.activation.autoreleasedCount != 0 { wakeUp() }
        // Release callbacks may have read what was reported as ready.
        dropEvents()
    }

    /// Releases what the innermost activation has autoreleased, the last first, and what their release functions autorelease in turn; some
    /// may be left, see `releasesPerDrain`. Calls user code, which may run the loop or end the thread, so each object leaves the list
    /// first.
    func releaseAutoreleased() {
        guard pointee.activation.autoreleasedCount != 0, let release = pointee.releaseObject else { return }
        var releasesLeft = RunLoopStorage.releasesPerDrain + RunLoopStorage.releasesPerObject * pointee.activation.autoreleasedCount
        while pointee.activation.autoreleasedCount > 0 && releasesLeft > 0 {
            releasesLeft -= 1
            let last = pointee.autoreleased.count - 1
            let object = pointee.autoreleased[last]
            pointee.autoreleased.truncate(to: last)
            pointee.activation.autoreleasedCount -= 1
            release(object)
        }
    }

    /// The thread ends: releases the objects of all activations. If release callbacks keep autoreleasing more, the last of these are never
    /// released.
    func releaseAllAutoreleased() {
        for _ in 0..<RunLoopStorage.drainsAtExit {
            pointee.activation.autoreleasedCount = pointee.autoreleased.count
            releaseAutoreleased()
        }
        pointee.autoreleased.removeAll()
        pointee.activation.autoreleasedCount = 0
    }
}
