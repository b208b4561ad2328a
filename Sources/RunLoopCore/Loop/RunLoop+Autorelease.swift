import CLinux

// Releasing the objects of RLAutorelease: at the end of each pass (step 9), before the loop sleeps (step 6), and when a run or the thread
// ends. Loop thread only.

extension RunLoopStorage {
    /// The type of RLRelease. Calls user code.
    typealias ReleaseFunction = @convention(c) (UnsafeRawPointer?) -> Void

    /// The maximum number of objects that one drain releases, plus `releasesPerObject` for each object that was there when it began. A
    /// bound is needed because a release callback may autorelease something each time it is called.
    fileprivate static var releasesPerDrain: Int { 1_000 }
    fileprivate static var releasesPerObject: Int { 100 }
    /// The maximum number of drains when the thread exits.
    fileprivate static var drainsAtExit: Int { 10 }
}

extension RunLoopPointer {
    /// RLAutorelease: takes over a reference from the caller. Returns false with ENOMEM, and the reference remains the caller's. Amortized
    /// O(1).
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

    /// Drains at the end of a pass, or when the loop is about to sleep in it. One load if there is nothing to release; otherwise calls user
    /// code. Objects that a bounded drain leaves are released in the next pass, which begins immediately, so that other work is served in
    /// between.
    func releaseAutoreleasedInPass() {
        if pointee.activation.autoreleasedCount != 0 { drainInPass() }
    }

    /// Does the work of `releaseAutoreleasedInPass` if there is something to release.
    @inline(never)
    private func drainInPass() {
        releaseAutoreleased()
        if pointee.activation.autoreleasedCount != 0 { wakeUp() }
        // Release callbacks may have read data that was reported as ready.
        dropEvents()
    }

    /// Releases what the innermost activation has autoreleased, last in, first out, including what release functions autorelease in turn.
    /// Some objects may be left: see `releasesPerDrain`. Calls user code, which may run the loop or end the thread; therefore each object
    /// leaves the list first.
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

    /// Releases the objects of all activations when the thread exits. If release callbacks keep autoreleasing, the last of these objects
    /// are never released.
    func releaseAllAutoreleased() {
        for _ in 0..<RunLoopStorage.drainsAtExit {
            pointee.activation.autoreleasedCount = pointee.autoreleased.count
            releaseAutoreleased()
        }
        pointee.autoreleased.removeAll()
        pointee.activation.autoreleasedCount = 0
    }
}
