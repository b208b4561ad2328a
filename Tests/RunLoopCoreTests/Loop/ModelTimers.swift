/// When the timers of a model are due, on a clock of its own that goes on with every look. By date, but what is past and
/// queued inside of a timer pass stands behind that pass, in the order in which it came, until the outermost pass ends or one of its
/// mode that is nested in it begins; unless it has a turn in it, and the date asked for is past, too: then it keeps that.
struct ModelTimers {
    private let script: Script
    private var clock = 0
    private var floor = 0
    /// What the passes that are under way, each inside of the one before, took for now.
    private var passes: [Int] = []
    private var deadlines: [Int]
    /// The date that each was given last, where the grid of a repeating timer whose date was past starts now.
    private var asked: [Int]
    private var isDisplaced: [Bool]
    private(set) var queuedAt: [Int]
    /// How often each got a date.
    private(set) var settings: [Int]

    init(_ script: Script) {
        self.script = script
        deadlines = script.timers.map { _ in 0 }
        asked = deadlines
        isDisplaced = script.timers.map { _ in false }
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
        case .future:
            deadlines[index] = .max
            asked[index] = .max
        case .past(let slot):
            asked[index] = slot - 1_000_000
            deadlines[index] = script.timers[index].repeats ? now() : asked[index]
        }
    }

    /// `isHere`: it was in the current mode already.
    mutating func enqueue(_ index: Int, isHere: Bool) {
        if let dueBy = passes.last, isHere && asked[index] <= dueBy && queuedAt[index] <= dueBy { return }
        isDisplaced[index] = !passes.isEmpty && deadlines[index] < floor
        if isDisplaced[index] { floor += 1 }
        queuedAt[index] = isDisplaced[index] ? floor : deadlines[index]
    }

    mutating func dequeue(_ index: Int) { queuedAt[index] = .max }

    /// A pass is about to begin, perhaps inside of others: those of its mode go by date again.
    mutating func restore(_ index: Int) {
        if isDisplaced[index] && queuedAt[index] != .max { queuedAt[index] = deadlines[index] }
        isDisplaced[index] = false
    }

    /// What the pass takes for now, nil if not even its first timer is due.
    mutating func beginPass(_ first: Int) -> Int? {
        let now = now()
        guard queuedAt[first] <= now else { return nil }
        floor = max(floor, now + 1)
        passes.append(now)
        return now
    }

    mutating func endPass() {
        passes.removeLast()
        if !passes.isEmpty { return }
        for index in deadlines.indices { restore(index) }
    }
}
