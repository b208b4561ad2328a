import CLinux
import Synchronization
import Testing

@testable import RunLoopCore

@Suite struct ItemHeaderTests {
    /// Creates a bare item, guarded by the loop of the calling thread.
    private static func makeItem(_ references: UInt32 = 1) -> ItemPointer {
        let item = ItemPointer.allocate(capacity: 1)
        item.initialize(to: ItemHeader(.observer, owner: Registry.current!.threadContext, flags: []))
        item.pointee.object.references.store(references, ordering: .relaxed)
        return item
    }

    @Test func releaseWithoutInternalReferences() {
        let seen = onThread { () -> [ItemPointer.ReleaseOutcome] in
            let item = Self.makeItem(3)
            defer { item.deallocate() }
            return [item.release(), item.release(), item.release(), item.release()]
        }
        #expect(seen == [.alive, .alive, .dead, .overReleased])
    }

    @Test func internalReferenceKeepsTheItemAlive() {
        let seen = onThread { () -> [Bool] in
            let item = Self.makeItem()
            defer { item.deallocate() }
            item.retainInternal()
            item.retainInternal()
            let released = item.release() == .alive
            let again = item.release() == .overReleased
            let first = item.releaseInternal()
            let last = item.releaseInternal()
            return [released, again, !first, last]
        }
        #expect(seen == [true, true, true, true])
    }

    @Test func clientReferenceKeepsTheItemAlive() {
        let seen = onThread { () -> [Bool] in
            let item = Self.makeItem()
            defer { item.deallocate() }
            item.retainInternal()
            let unheld = item.releaseInternal()
            return [!unheld, item.release() == .dead]
        }
        #expect(seen == [true, true])
    }

    @Test func flagsAreIndependent() {
        let seen = onThread { () -> [Bool] in
            let item = Self.makeItem()
            defer { item.deallocate() }
            var seen = [item.pointee.has(.valid), !item.pointee.has(.firing)]
            item.pointee.set(.firing)
            item.pointee.set(.bound)
            item.pointee.clear(.valid)
            seen += [item.pointee.has(.firing), item.pointee.has(.bound), !item.pointee.has(.valid)]
            item.pointee.clear(.firing)
            seen += [!item.pointee.has(.firing), item.pointee.has(.bound), !item.pointee.has(.repeats)]
            return seen
        }
        #expect(seen.allSatisfy { $0 })
    }

    /// The last client and the loop release the item at the same time: exactly one of them finds it dead.
    @Test func exactlyOneSideReleasesTheLastReference() {
        let rounds = scaled(4_000)
        let deaths = onThread { () -> [Int] in
            let threadContext = Registry.current!.threadContext
            let items = (0..<rounds).map { _ in Self.makeItem(2) }
            for item in items { item.retainInternal() }
            let counts = (0..<3).map { _ in Pinned([Int](repeating: 0, count: rounds)) }
            let clients = (0..<2).map { number in
                spawn {
                    for (index, item) in items.enumerated() where item.release() == .dead { counts[number].pointer.pointee[index] += 1 }
                }
            }
            for (index, item) in items.enumerated() {
                threadContext.lock()
                let isDead = item.releaseInternal()
                threadContext.unlock()
                if isDead { counts[2].pointer.pointee[index] += 1 }
            }
            for client in clients { client.join() }
            for item in items { item.deallocate() }
            return (0..<rounds).map { index in counts.reduce(0) { $0 + $1.pointer.pointee[index] } }
        }
        #expect(deaths == [Int](repeating: 1, count: rounds))
    }

    /// An item moves between two loops. Locking it always locks the loop that it is in.
    @Test func lockFollowsTheItem() {
        let turns = scaled(3_000)
        let problems = onThread { () -> Int in
            let own = Registry.current!.threadContext
            let item = Self.makeItem()
            let counter = Pinned(0)
            let wrong = Pinned(Atomic<Int>(0))
            let ready = Guarded<ThreadContextPointer?>(nil)
            let isDone = Guarded(false)
            let owner = spawn {
                ready.with { $0 = Registry.current!.threadContext }
                while !isDone.with({ $0 }) { sched_yield() }
            }
            while ready.with({ $0 }) == nil { sched_yield() }
            let other = ready.with { $0! }
            inParallel(3) { number in
                if number == 0 {
                    for turn in 0..<turns {
                        let target = turn % 2 == 0 ? other : own
                        let owner = item.lock(and: target)
                        item.pointee.setOwner(target)
                        counter.pointer.pointee += 1
                        ItemPointer.unlockBoth(owner, target)
                    }
                } else {
                    for _ in 0..<turns {
                        let owner = item.lock()
                        if item.pointee.owner != owner { wrong.pointer.pointee.add(1, ordering: .relaxed) }
                        counter.pointer.pointee += 1
                        owner.unlock()
                    }
                }
            }
            isDone.with { $0 = true }
            owner.join()
            item.deallocate()
            return wrong.pointer.pointee.load(ordering: .relaxed) + (counter.pointer.pointee - 3 * turns)
        }
        #expect(problems == 0)
    }

    @Test func layout() {
        #expect(MemoryLayout<ObjectHeader>.size == 8)
        #expect(MemoryLayout<ItemHeader>.size == 24)
    }
}

@Suite struct ObjectHeaderTests {
    @Test func kindsAreDistinct() {
        #expect(Set(Kind.all.map(\.typeID)).count == Kind.all.count)
        #expect(Set(Kind.all.map { String(cString: $0.name.text) }).count == Kind.all.count)
        #expect(Kind(rawValue: 0) == nil, "0 is free memory")
    }

    @Test func lastReleaseIsReported() {
        let header = Pinned(ObjectHeader(.data))
        header.pointer.pointee.retain()
        #expect(header.pointer.pointee.release() == false)
        #expect(header.pointer.pointee.release() == true)
    }

    @Test func immortalObjectsAreNeverFreed() {
        let header = Pinned(ObjectHeader(.string, references: ObjectHeader.immortal))
        for _ in 0..<100 {
            if header.pointer.pointee.release() || !header.pointer.pointee.releaseUnlessLast() { Issue.record("died") }
        }
        header.pointer.pointee.retain()
        #expect(header.pointer.pointee.references.load(ordering: .relaxed) == ObjectHeader.immortal)
    }

    @Test func releaseUnlessLastKeepsTheLastReference() {
        let header = Pinned(ObjectHeader(.timer, references: 2))
        #expect(header.pointer.pointee.releaseUnlessLast() == true)
        #expect(header.pointer.pointee.releaseUnlessLast() == false)
        #expect(header.pointer.pointee.references.load(ordering: .relaxed) == 1)
    }

    @Test func concurrentCountsAreExact() {
        let turns = scaled(40_000)
        let header = Pinned(ObjectHeader(.data))
        let p = header.pointer
        let deaths = Pinned(Atomic<Int>(0))
        inParallel(3) { _ in
            for _ in 0..<turns { p.pointee.retain() }
            for _ in 0..<turns where p.pointee.release() { deaths.pointer.pointee.add(1, ordering: .relaxed) }
        }
        #expect(deaths.pointer.pointee.load(ordering: .relaxed) == 0)
        #expect(header.pointer.pointee.references.load(ordering: .relaxed) == 1)
    }
}
