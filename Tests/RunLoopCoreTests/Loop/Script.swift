// Random programs for a run loop. One player executes them twice, on the real loop and on the model. Everything that happens is recorded as
// a list of events, and the two lists must be the same.

enum Item: Hashable {
    case source(Int)
    case timer(Int)
    case observer(Int)
}

/// The default mode, which is common from the beginning; two other modes; and all common modes.
enum ScriptMode: Int, CaseIterable {
    case first, second, third, common

    static let runnable: [ScriptMode] = [.first, .second, .third]
}

enum Step {
    case add(Item, ScriptMode)
    case remove(Item, ScriptMode)
    case invalidate(Item)
    /// Sets whether a source or timer keeps its modes from being empty.
    case keep(Item, Bool)
    case signal(Int)
    case setDate(Int, TimerDate)
    case perform(Int, ScriptMode)
    case cancel(Int)
    case addCommon(ScriptMode)
    case stop
    case wakeUp
    /// Runs the loop. `isLong`: until it is stopped, which happens in BeforeWaiting (see `Player`); otherwise one pass.
    case run(ScriptMode, isLong: Bool, onlyOne: Bool)
}

/// A date that the test never waits for: either due already or never due within the test.
enum TimerDate: Hashable {
    /// A past date; a larger number is a later date.
    case past(Int)
    case future
}

enum Event: Equatable {
    case source(Int)
    case timer(Int)
    case observer(Int, activity: UInt)
    case function(Int)
    case cancelled(Int)
    case returned(Int32)
}

struct Script {
    struct Timer {
        var date: TimerDate
        var repeats: Bool
    }

    struct Observer {
        var activities: UInt
        var order: Int
        var repeats: Bool
    }

    /// The orders of the sources, which are all different, since the order of equal ones is not guaranteed.
    var sourceOrders: [Int]
    var timers: [Timer]
    var observers: [Observer]
    /// What is done outside of any run.
    var steps: [Step]
    /// What an item's callback does when called for the first time, the second time and so on. Functions to be performed come last.
    var sourceReactions: [[[Step]]]
    var timerReactions: [[[Step]]]
    var observerReactions: [[[Step]]]
    var functionReactions: [[[Step]]]

    static let functionCount = 4

    init(seed: UInt64) {
        var random = Random(seed: seed)
        let orders = Array(-20..<20).shuffled(using: &random)
        sourceOrders = Array(orders.prefix(5))
        var dates = Array(0..<1000).shuffled(using: &random)
        timers = (0..<4).map { _ in
            Timer(date: random.chance(70) ? .past(dates.removeLast()) : .future, repeats: random.chance(25))
        }
        observers = (0..<3).map { index in
            let all: [UInt] = [1, 2, 4, 32, 64, 128]
            return Observer(
                activities: all.reduce(0) { $0 | (random.chance(55) ? $1 : 0) }, order: orders[10 + index], repeats: random.chance(80))
        }
        (steps, sourceReactions, timerReactions, observerReactions, functionReactions) = ([], [], [], [], [])
        var maker = StepMaker(random: random, dates: dates, script: self)
        for _ in 0..<40 { steps.append(maker.step(outside: true)) }
        sourceReactions = sourceOrders.map { _ in maker.reactions() }
        timerReactions = timers.map { _ in maker.reactions() }
        observerReactions = observers.map { _ in maker.reactions() }
        functionReactions = (0..<Self.functionCount).map { _ in maker.reactions() }
    }
}

private struct StepMaker {
    var random: Random
    var dates: [Int]
    let script: Script

    mutating func reactions() -> [[Step]] {
        (0..<6).map { _ in random.chance(45) ? [] : (0..<(1 + random.below(3))).map { _ in step(outside: false) } }
    }

    mutating func step(outside: Bool) -> Step {
        switch random.below(outside ? 30 : 27) {
        case 0...6: .add(item(), mode())
        case 7...8: .remove(item(), mode())
        case 9: random.chance(50) ? .invalidate(item()) : .wakeUp
        case 10...14: .signal(random.below(script.sourceOrders.count))
        case 15...16: .setDate(random.below(script.timers.count), random.chance(75) && !dates.isEmpty ? .past(dates.removeLast()) : .future)
        case 17...20: .perform(random.below(Script.functionCount), mode())
        case 21: random.chance(60) ? .cancel(random.below(Script.functionCount)) : .addCommon(random.chance(50) ? .second : .third)
        case 22: random.chance(40) ? .stop : .keep(item(), random.chance(50))
        case 23 where !outside && random.chance(60): .wakeUp
        default: .run(runnable(), isLong: random.chance(50), onlyOne: random.chance(40))
        }
    }

    private mutating func item() -> Item {
        switch random.below(10) {
        case 0...4: .source(random.below(script.sourceOrders.count))
        case 5...7: .timer(random.below(script.timers.count))
        default: .observer(random.below(script.observers.count))
        }
    }

    private mutating func mode() -> ScriptMode { random.chance(35) ? .common : runnable() }

    private mutating func runnable() -> ScriptMode { random.chance(60) ? .first : random.chance(60) ? .second : .third }
}

/// Anything that can execute steps: the real loop or the model.
protocol Stage: AnyObject {
    func act(_ step: Step) -> Event?
}

/// Executes the steps of a script on a stage and records what happens.
///
/// No run ever sleeps: a run that would sleep is stopped by an observer of BeforeWaiting, which the stage provides.
final class Player {
    private let script: Script
    private(set) var events: [Event] = []
    private var calls: [Event: Int] = [:]
    /// Ends scripts that would continue without limit, such as a source that signals itself.
    private var stepsLeft = 300
    private var depth = 0
    unowned var stage: Stage!

    init(_ script: Script) { self.script = script }

    func playAll() { for step in script.steps { play(step) } }

    func play(_ step: Step) {
        guard stepsLeft > 0 else { return }
        stepsLeft -= 1
        if case .run = step {
            guard depth < 4 else { return }
            depth += 1
            defer { depth -= 1 }
            if let event = stage.act(step) { events.append(event) }
        } else if let event = stage.act(step) {
            events.append(event)
        }
    }

    /// Records that a callback of the script was called, and executes its reaction.
    func called(_ event: Event) {
        events.append(event)
        let reactions =
            switch event {
            case .source(let index): script.sourceReactions[index]
            case .timer(let index): script.timerReactions[index]
            case .observer(let index, _): script.observerReactions[index]
            case .function(let index): script.functionReactions[index]
            case .cancelled, .returned: [[Step]]()
            }
        var key = event
        if case .observer(let index, _) = event { key = .observer(index, activity: 0) }
        let call = calls[key, default: 0]
        calls[key] = call + 1
        if call < reactions.count { for step in reactions[call] { play(step) } }
    }
}

extension Event: Hashable {}
