/// When the timers of a model are due, on a clock of its own that goes on with every look. By date, but what is past and
/// queued inside of a timer pass stands behind that pass, in the order in which it came; unless it has a turn in it, then it
/// keeps that.
struct ModelTimers {
    private let script: Script
    private var clock = 0
    private var floor = 0
    /// What the passes that are under way, each inside of the one before, took for now.
    private var passes: [Int] = []
    private var deadlines: [Int]
    private(set) var queuedAt: [Int]
    /// How often each got a date.
    private(set) var settings: [Int]

    init(_ script: Script) {
        self.script = script
        deadlines = script.timers.map { _ in 0 }
        queuedAt = script.timers.map { _ in .max }
        settings = script.timers.map { _ in 0 }
        for index in script.timers.indices { setDate(index, script.timers[index].date) }
    }

    private mutating func now() -> Int {
        clock += 1000
        return clock
    }

    /// A repeating timer's past date counts as now.
    mutating func setDate(_ index: Int, _ date: TimerDate) {
        settings[index] += 1
        switch date {
        case .future: deadlines[index] = .max
        case .past(let slot): deadlines[index] = script.timers[index].repeats ? now() : slot - 1_000_000
        }
    }

    /// `isHere`: it was in the current mode already.
    mutating func enqueue(_ index: Int, isHere: Bool) {
        guard let dueBy = passes.last, deadlines[index] < floor else { return queuedAt[index] = deadlines[index] }
        if isHere && deadlines[index] <= dueBy && queuedAt[index] <= dueBy { return }
        floor += 1
        queuedAt[index] = floor
    }

    mutating func dequeue(_ index: Int) { queuedAt[index] = .max }

    /// What the pass takes for now, nil if not even its first timer is due.
    mutating func beginPass(_ first: Int) -> Int? {
        let now = now()
        guard queuedAt[first] <= now else { return nil }
        floor = max(floor, now + 1)
        passes.append(now)
        return now
    }

    mutating func endPass() { passes.removeLast() }
}
