import CLinux

@testable import RunLoopCore

/// A poller with its reports, used as a loop uses them.
struct Watcher: ~Copyable {
    var poller = Poller()
    var reports = Reports()
    private var sawAlwaysReady = false
    /// Of the watches that are always ready: when each had its turn, counted.
    private var turns: [Int: UInt32] = [:]
    private var turn: UInt32 = 0

    init() {}

    mutating func add(_ fd: Int32, client: Int = 1) -> Int {
        poller.add(fd, wanted: .readable, client: UInt64(client) << 1) ?? -1
    }

    mutating func wait(until deadline: Instant = .distantPast, alwaysReady: Bool = false, _ extent: Reports.Extent = .all) {
        reports.wait(Reports.Target(epoll: poller.epoll, alwaysReady: alwaysReady), until: deadline, extent)
    }

    /// As a loop that takes one report in each pass, and notes what it took.
    mutating func takeOne(_ extent: Reports.Extent, served: (Int) -> Bool) -> Int? {
        wait(extent)
        _ = reports.begin { tag in poller.index(ofReported: tag).map { !served($0) } ?? false }
        defer { reports.drop() }
        return reports.take().flatMap { poller.index(ofReported: $0.tag) }
    }

    /// The reports that are left, of watches that are still there.
    mutating func take() -> [Int] {
        var found: [Int] = []
        while let report = reports.take() {
            if report.tag == Poller.alwaysReadyTag {
                sawAlwaysReady = true
            } else if let index = poller.index(ofReported: report.tag) {
                found.append(index)
            } else {
                reports.noteStray(report.tag)
            }
        }
        return found.sorted()
    }

    /// What is ready now.
    mutating func look() -> [Int] {
        if reports.isHaunted() { _ = poller.rebuild() }
        wait()
        return take()
    }

    /// What went wrong, in words.
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
        poller.close(afterKicks: reports.kicks)
        reports.reset()
    }
}
