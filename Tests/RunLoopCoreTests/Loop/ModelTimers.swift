/// When the timers of a model are due, on the model's own clock, which advances with every reading. Timers are due by date, with one
/// exception: a timer that is past and is queued during a timer pass is placed behind that pass, in order of arrival, until the outermost
/// pass ends or a nested pass of its mode begins. But a timer keeps its place if the pass was going to fire it, and its new date is past,
/// too.
struct ModelTimers {
    private let script: Script
    private var clock = 0
    private var floor = 0
    /// What each pass in progress took for the current time, the outermost pass first.
    private var passes: [Int] = []
    private var deadlines: [Int]
    /// The date that each timer was given last. (The grid of a repeating timer with a past date starts at the current time instead.)
    private var asked: [Int]
    private var isDisplaced: [Bool]
    private(set) var queuedAt: [Int]
    /// How often each timer was given a date.
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

    /// Sets a date. A repeating timer's past date counts as now.
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

    /// Queues a timer. `isHere`: it was in the current mode already.
    mutating func enqueue(_ index: Int, isHere: Bool) {
        if let dueBy = passes.last, isHere && asked[index] <= dueBy && queuedAt[index] <= dueBy { return }
        isDisplaced[index] = !passes.isEmpty && deadlines[index] < floor
        if isDisplaced[index] { floor += 1 }
        queuedAt[index] = isDisplaced[index] ? floor : deadlines[index]
    }

    mutating func dequeue(_ index: Int) { queuedAt[index] = .max }

    /// Orders a displaced timer by date again. Called before a pass, perhaps a nested one, for the timers of its mode.
    mutating func restore(_ index: Int) {
        if isDisplaced[index] && queuedAt[index] != .max { queuedAt[index] = deadlines[index] }
        isDisplaced[index] = false
    }

    /// Returns what the pass takes for the current time; nil if not even its first timer is due.
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
