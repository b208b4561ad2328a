import CLinux

@testable import RunLoopCore

/// A poller with its reports, used as a loop uses them.
struct Watcher: ~Copyable {
    var poller = Poller()
    var reports = Reports()

    mutating func add(_ fd: Int32, client: Int = 1) -> Int {
        poller.add(fd, wanted: .readable, client: UInt64(client) << 1) ?? -1
    }

    mutating func wait(until deadline: Instant = .distantPast, alwaysReady: Bool = false) {
        reports.wait(Reports.Target(epoll: poller.epoll, alwaysReady: alwaysReady), until: deadline)
    }

    /// The reports that are left, of watches that are still there.
    mutating func take() -> [Int] {
        var found: [Int] = []
        while let report = reports.take() {
            if let index = poller.index(ofReported: report.tag) { found.append(index) } else { reports.noteStray(report.tag) }
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
        if !reports.isAlwaysReadyTurn { return nil }
        reports.endAlwaysReadyTurn()
        return poller.nextAlwaysReady(isWanted)
    }

    mutating func close() {
        poller.close(afterKicks: reports.kicks)
        reports.reset()
    }
}
