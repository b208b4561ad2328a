// The guide's ten steps, written as plainly as possible: lists that are searched from end to end, no sorted queue, no lock, no clock.

final class ModelLoop: Stage {
    private final class Member {
        var modes: Set<ScriptMode> = []
        var isValid = true
        var isFiring = false
        var keepsMode = true
        let repeats: Bool

        init(repeats: Bool = true) { self.repeats = repeats }
    }

    private final class Function {
        let number: Int
        let mode: ScriptMode
        /// Whether the function was called or cancelled.
        var isGone = false

        init(_ number: Int, _ mode: ScriptMode) { (self.number, self.mode) = (number, mode) }
    }

    private let script: Script
    private unowned let player: Player
    private var members: [Item: Member] = [:]
    private var commonModes: Set<ScriptMode> = [.first]
    private var signalled: Set<Int> = []
    private var timers: ModelTimers
    private var queue: [Function] = []
    private var batches: [[Function]] = []
    private var isStopped = false
    private var current: [ScriptMode] = []

    init(_ script: Script, _ player: Player) {
        self.script = script
        self.player = player
        for index in script.sourceOrders.indices { members[.source(index)] = Member() }
        for index in script.timers.indices { members[.timer(index)] = Member(repeats: script.timers[index].repeats) }
        for index in script.observers.indices { members[.observer(index)] = Member(repeats: script.observers[index].repeats) }
        timers = ModelTimers(script)
    }

    func act(_ step: Step) -> Event? {
        switch step {
        case .add(let item, let mode): add(item, mode)
        case .remove(let item, let mode): remove(item, mode)
        case .invalidate(let item): invalidate(members[item]!)
        case .keep(let item, let keeps): members[item]!.keepsMode = keeps
        case .signal(let index): signal(index)
        case .setDate(let index, let date): setDate(index, date)
        case .perform(let number, let mode): queue.append(Function(number, mode))
        case .cancel(let number): return .cancelled(cancel(number))
        case .addCommon(let mode): addCommon(mode)
        case .stop: isStopped = true
        case .wakeUp: break
        case .run(let mode, let isLong, let onlyOne): return .returned(run(mode, isLong: isLong, onlyOne: onlyOne))
        }
        return nil
    }

    // MARK: items

    private func add(_ item: Item, _ mode: ScriptMode) {
        let member = members[item]!
        let before = member.modes
        guard member.isValid else { return }
        member.modes.insert(mode)
        if mode == .common { member.modes.formUnion(commonModes) }
        if member.modes != before { requeue(item, before) }
    }

    private func remove(_ item: Item, _ mode: ScriptMode) {
        let member = members[item]!
        let before = member.modes
        guard before.contains(mode) else { return }
        member.modes.remove(mode)
        if mode == .common { member.modes.subtract(commonModes) }
        requeue(item, before)
    }

    private func requeue(_ item: Item, _ before: Set<ScriptMode>) {
        guard case .timer(let index) = item, !members[item]!.isFiring else { return }
        if members[item]!.modes.isEmpty { return timers.dequeue(index) }
        timers.enqueue(index, isHere: current.last.map { before.contains($0) } ?? false)
    }

    private func invalidate(_ member: Member) {
        member.isValid = false
        member.modes = []
    }

    private func addCommon(_ mode: ScriptMode) {
        guard commonModes.insert(mode).inserted else { return }
        for member in members.values where member.modes.contains(.common) { member.modes.insert(mode) }
    }

    private func signal(_ index: Int) {
        if members[.source(index)]!.isValid { signalled.insert(index) }
    }

    private func setDate(_ index: Int, _ date: TimerDate) {
        guard members[.timer(index)]!.isValid else { return }
        timers.setDate(index, date)
        requeue(.timer(index), members[.timer(index)]!.modes)
    }

    private func cancel(_ number: Int) -> Int {
        let waiting = (queue + batches.flatMap { $0 }).filter { $0.number == number && !$0.isGone }
        for function in waiting { function.isGone = true }
        queue.removeAll { $0.isGone }
        return waiting.count
    }

    // MARK: running

    private func isEmpty(_ mode: ScriptMode) -> Bool {
        let hasItem = members.contains { item, member in
            if case .observer = item { return false }
            return member.keepsMode && member.modes.contains(mode)
        }
        return !hasItem && !queue.contains { matches($0, mode, commonModes.contains(mode)) }
    }

    private func run(_ mode: ScriptMode, isLong: Bool, onlyOne: Bool) -> Int32 {
        if isEmpty(mode) { return 1 }
        let outerStop = isStopped
        isStopped = false
        current.append(mode)
        notify(mode, 1)
        let result = isStopped ? 2 : iterate(mode, isLong, onlyOne)
        notify(mode, 128)
        current.removeLast()
        isStopped = !current.isEmpty && outerStop
        return result
    }

    private func iterate(_ mode: ScriptMode, _ isLong: Bool, _ onlyOne: Bool) -> Int32 {
        while true {
            notify(mode, 2)
            notify(mode, 4)
            performFunctions(mode)
            let handled = performSources(mode, onlyOne)
            if handled { performFunctions(mode) }
            if isLong && !handled {
                notify(mode, 32)
                isStopped = true
                notify(mode, 64)
            }
            fireTimers(mode)
            performFunctions(mode)
            if handled && onlyOne { return 4 }
            if !isLong { return 3 }
            if isStopped { return 2 }
            if isEmpty(mode) { return 1 }
        }
    }

    private func notify(_ mode: ScriptMode, _ activity: UInt) {
        let listening = script.observers.indices
            .filter { script.observers[$0].activities & activity != 0 }
            .filter { members[.observer($0)]!.modes.contains(mode) && !members[.observer($0)]!.isFiring }
            .sorted { script.observers[$0].order < script.observers[$1].order }
        for index in listening {
            let member = members[.observer(index)]!
            if !member.isValid || member.isFiring { continue }
            member.isFiring = true
            player.called(.observer(index, activity: activity))
            member.isFiring = false
            if !member.repeats { invalidate(member) }
        }
    }

    /// Sources that are signalled at the beginning are performed, wherever they are by then, unless a nested run performs them first.
    private func performSources(_ mode: ScriptMode, _ onlyOne: Bool) -> Bool {
        let batch = script.sourceOrders.indices
            .filter { members[.source($0)]!.modes.contains(mode) && signalled.contains($0) }
            .sorted { script.sourceOrders[$0] < script.sourceOrders[$1] }
        var handled = false
        for index in batch where members[.source(index)]!.isValid && signalled.contains(index) {
            signalled.remove(index)
            handled = true
            player.called(.source(index))
            if onlyOne { break }
        }
        return handled
    }

    private func fireTimers(_ mode: ScriptMode) {
        func queued() -> [Int] {
            script.timers.indices.filter { members[.timer($0)]!.modes.contains(mode) && !members[.timer($0)]!.isFiring }
        }
        func first() -> Int? { queued().min { timers.queuedAt[$0] < timers.queuedAt[$1] } }
        for index in queued() { timers.restore(index) }
        guard let earliest = first(), let now = timers.beginPass(earliest) else { return }
        while let index = first(), timers.queuedAt[index] <= now {
            let member = members[.timer(index)]!
            let setting = timers.settings[index]
            timers.dequeue(index)
            member.isFiring = true
            player.called(.timer(index))
            member.isFiring = false
            if !member.repeats { invalidate(member) }
            // The next point of the grid is far ahead, unless the callback has set another date.
            if timers.settings[index] == setting { timers.setDate(index, .future) }
            requeue(.timer(index), member.modes)
        }
        timers.endPass()
    }

    private func matches(_ function: Function, _ mode: ScriptMode, _ isCommon: Bool) -> Bool {
        function.mode == mode || (isCommon && function.mode == .common)
    }

    /// Calls functions in the order in which they were posted. Nested runs cannot reach the rest of the batch.
    private func performFunctions(_ mode: ScriptMode) {
        let batch = queue
        queue = []
        batches.append(batch)
        for function in batch where !function.isGone && matches(function, mode, commonModes.contains(mode)) {
            function.isGone = true
            player.called(.function(function.number))
        }
        batches.removeLast()
        queue = batch.filter { !$0.isGone } + queue
    }
}
