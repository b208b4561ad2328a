import CLinux

@testable import RunLoopCore

/// A poller with its reports, used as a loop uses them.
struct Watcher: ~Copyable {
    var poller = Poller()
    var eventBatch = EventBatch()
    private var sawAlwaysReady = false
    /// The time of the last turn of each watch that is always ready, as a count.
    private var turns: [Int: UInt32] = [:]
    private var turn: UInt32 = 0

    init() {}

    mutating func add(_ fd: Int32, client: Int = 1) -> Int {
        poller.add(fd, interest: .readable, client: UInt64(client) << 1) ?? -1
    }

    mutating func wait(until deadline: Instant = .distantPast, alwaysReady: Bool = false, _ extent: EventBatch.Extent = .all) {
        eventBatch.wait(EventBatch.Target(epoll: poller.epoll, alwaysReady: alwaysReady), until: deadline, extent)
    }

    /// Takes one report, as a loop does in each pass, and records which one.
    mutating func takeOne(_ extent: EventBatch.Extent, served: (Int) -> Bool) -> Int? {
        wait(extent)
        _ = eventBatch.begin { tag in poller.index(ofTag: tag).map { !served($0) } ?? false }
        defer { eventBatch.drop() }
        return eventBatch.take().flatMap { poller.index(ofTag: $0.tag) }
    }

    /// Takes the remaining reports of watches that still exist.
    mutating func take() -> [Int] {
        var found: [Int] = []
        while let event = eventBatch.take() {
            if event.tag == Poller.alwaysReadyTag {
                sawAlwaysReady = true
            } else if let index = poller.index(ofTag: event.tag) {
                found.append(index)
            } else {
                eventBatch.noteStaleEvent(event.tag)
            }
        }
        return found.sorted()
    }

    /// Returns the watches that are ready.
    mutating func look() -> [Int] {
        if eventBatch.takeNeedsRebuild() { _ = poller.rebuild() }
        wait()
        return take()
    }

    /// Applies the pending changes. Returns what went wrong, in words.
    mutating func applyChanges() -> String {
        var isLost = false
        var hasFailed = false
        while let index = poller.takeChange() {
            if !poller.listen(index) { hasFailed = true }
            if poller[index].state == .broken { isLost = true }
        }
        return (isLost ? "lost" : "") + (hasFailed ? "failed" : "")
    }

    mutating func takeAlwaysReady(_ isWanted: (Int) -> Bool) -> Int? {
        if !sawAlwaysReady { return nil }
        sawAlwaysReady = false
        let index = poller.nextAlwaysReady { isWanted($0) ? turn &- (turns[$0] ?? 0) : nil }
        turn += 1
        if let index { turns[index] = turn }
        return index
    }

    mutating func close() {
        poller.close(afterWakes: eventBatch.wakes)
        eventBatch.reset()
    }
}
