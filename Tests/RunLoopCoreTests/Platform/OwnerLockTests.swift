import CLinux
import Testing

@testable import RunLoopCore

/// The numbers under the locks are plain: a lost update shows as a wrong sum, and as a race to ThreadSanitizer.
@Suite struct OwnerLockTests {
    /// The work done under the lock, without any atomic. It is stored next to the lock and does not contain it, because changing a struct
    /// accesses all its fields.
    private struct Work {
        var sum = 0
        var inside = 0
        var overlaps = 0

        mutating func add() {
            inside += 1
            let before = sum
            pauseProcessor()
            if inside != 1 { overlaps += 1 }
            sum = before + 1
            inside -= 1
        }
    }

    private final class Shared {
        let pinnedLock = Pinned(OwnerLock())
        let pinnedWork = Pinned(Work())

        func addAsOwner() {
            if !pinnedLock.pointer.pointee.tryLock() { pinnedLock.pointer.pointee.lockSlow(asOwner: true) }
            pinnedWork.pointer.pointee.add()
            if !pinnedLock.pointer.pointee.tryUnlock() { pinnedLock.pointer.pointee.unlockSlow(asOwner: true) }
        }

        func addAsOther() {
            pinnedLock.pointer.pointee.lockSlow(asOwner: false)
            pinnedWork.pointer.pointee.add()
            pinnedLock.pointer.pointee.unlockSlow(asOwner: false)
        }

        var sum: Int { pinnedWork.pointer.pointee.sum }
        var overlaps: Int { pinnedWork.pointer.pointee.overlaps }
    }

    @Test(arguments: [1, 3])
    func ownerAndOthersExcludeEachOther(others: Int) {
        let ownerTurns = scaled(200_000)
        let otherTurns = scaled(6_000)
        let shared = Shared()
        inParallel(others + 1) { number in
            if number == 0 {
                for _ in 0..<ownerTurns { shared.addAsOwner() }
            } else {
                for _ in 0..<otherTurns { shared.addAsOther() }
            }
        }
        #expect(shared.sum == ownerTurns + others * otherTurns)
        #expect(shared.overlaps == 0)
    }

    @Test func ownerLocksAlone() {
        let shared = Shared()
        for _ in 0..<1000 { shared.addAsOwner() }
        #expect(shared.sum == 1000)
    }

    /// While one side holds the lock, the other side waits; it proceeds when the lock is released.
    @Test(arguments: [true, false])
    func excludesTheOtherSide(ownerHolds: Bool) {
        let lock = Pinned(OwnerLock())
        let order = Guarded<[String]>([])
        let ready = Guarded(false)
        func hold(asOwner: Bool, _ body: () -> Void) {
            if !asOwner || !lock.pointer.pointee.tryLock() { lock.pointer.pointee.lockSlow(asOwner: asOwner) }
            body()
            if !asOwner || !lock.pointer.pointee.tryUnlock() { lock.pointer.pointee.unlockSlow(asOwner: asOwner) }
        }
        inParallel(2) { number in
            if number == 0 {
                hold(asOwner: ownerHolds) {
                    ready.with { $0 = true }
                    // Usually enough time for the other side to block on the lock; the result does not depend on it.
                    for _ in 0..<200 { sched_yield() }
                    order.with { $0.append("first") }
                }
            } else {
                while !ready.with({ $0 }) { sched_yield() }
                hold(asOwner: !ownerHolds) { order.with { $0.append("second") } }
            }
        }
        #expect(order.with { $0 } == ["first", "second"])
    }

    /// A thread that releases the lock and immediately locks it again first waits for a waiting owner, which takes much longer to wake up.
    @Test func aWaitingOwnerGoesFirst() {
        let rounds = 200
        let pinnedLock = Pinned(OwnerLock())
        let invited = Guarded(0)
        let turns = Guarded(0)
        let passedOver = Guarded(0)
        func hold(asOwner: Bool, _ body: () -> Void) {
            pinnedLock.pointer.pointee.lockSlow(asOwner: asOwner)
            body()
            pinnedLock.pointer.pointee.unlockSlow(asOwner: asOwner)
        }
        inParallel(2) { number in
            for round in 1...rounds {
                if number == 0 {
                    while invited.with({ $0 }) < round { sched_yield() }
                    hold(asOwner: true) { turns.with { $0 = round } }
                } else {
                    hold(asOwner: false) {
                        invited.with { $0 = round }
                        while pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 0 { sched_yield() }
                        // Usually enough time for the owner to fall asleep; the result does not depend on it.
                        for _ in 0..<round % 64 { sched_yield() }
                    }
                    hold(asOwner: false) {
                        // 2: this thread has waited longer than the owner is given.
                        let hasWaited = pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 2
                        if turns.with({ $0 }) < round && !hasWaited { passedOver.with { $0 += 1 } }
                    }
                    while turns.with({ $0 }) < round { sched_yield() }
                }
            }
        }
        #expect(passedOver.with { $0 } == 0)
    }

    /// The owner may be kept off the processor right after announcing that it waits.
    @Test func anAbsentOwnerDelaysEachLockOnce() {
        let pinnedLock = Pinned(OwnerLock())
        pinnedLock.pointer.pointee.ownerWaits.store(1, ordering: .relaxed)
        for _ in 0..<2 {
            let start = Clock.now
            pinnedLock.pointer.pointee.lockSlow(asOwner: false)
            #expect(Clock.now >= start.advanced(by: OwnerLock.turnTimeout))
            #expect(pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 2)
            pinnedLock.pointer.pointee.unlockSlow(asOwner: false)
        }
        pinnedLock.pointer.pointee.lockSlow(asOwner: true)
        #expect(pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 0)
        pinnedLock.pointer.pointee.unlockSlow(asOwner: true)
    }

    /// The child of a fork() inherits the stores of an owner that was about to lock, but no thread that takes them back.
    @Test func anOwnerMissingInTheChildIsForgotten() {
        let pinnedLock = Pinned(OwnerLock())
        pinnedLock.pointer.pointee.lockBeforeFork(asOwner: false)
        #expect(pinnedLock.pointer.pointee.tryLock() == false)
        pinnedLock.pointer.pointee.ownerWaits.store(1, ordering: .relaxed)
        pinnedLock.pointer.pointee.resetOwnerAfterFork()
        pinnedLock.pointer.pointee.unlockAfterFork(asOwner: false)
        #expect(pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 0)
        pinnedLock.pointer.pointee.lockSlow(asOwner: false)
        pinnedLock.pointer.pointee.unlockSlow(asOwner: false)
        #expect(pinnedLock.pointer.pointee.tryLock() == Membarrier.isAvailable)
        pinnedLock.pointer.pointee.stepOut()
    }

    /// In the parent of a fork() a waiting owner keeps waiting, and is first to lock.
    @Test func aWaitingOwnerKeepsWaitingInTheParentOfAFork() {
        let pinnedLock = Pinned(OwnerLock())
        pinnedLock.pointer.pointee.lockBeforeFork(asOwner: false)
        pinnedLock.pointer.pointee.ownerWaits.store(1, ordering: .relaxed)
        pinnedLock.pointer.pointee.unlockAfterFork(asOwner: false)
        #expect(pinnedLock.pointer.pointee.ownerWaits.load(ordering: .relaxed) == 1)
    }

    @Test func contextIsLockedByOwnerAndOtherThreads() {
        let turns = scaled(20_000)
        let result = onThread { () -> Int? in
            guard let threadContext = Registry.current?.threadContext else { return nil }
            let counter = Pinned(0)
            inParallel(3) { _ in
                _ = Registry.current
                for _ in 0..<turns / 10 {
                    threadContext.lock()
                    counter.pointer.pointee += 1
                    threadContext.unlock()
                }
            }
            let stranger = spawn {
                for _ in 0..<turns / 10 {
                    threadContext.lock()
                    counter.pointer.pointee += 1
                    threadContext.unlock()
                }
            }
            for _ in 0..<turns {
                threadContext.lock()
                counter.pointer.pointee += 1
                threadContext.unlock()
            }
            stranger.join()
            return counter.pointer.pointee
        }
        #expect(result == turns + 4 * (turns / 10))
    }
}
