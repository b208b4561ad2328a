import CRunLoop

@testable import RunLoopCore

/// The calling thread's loop, used through the functions that C programs call.
final class RealLoop: Stage {
    /// The info of the callbacks.
    private final class Role {
        unowned let player: Player
        let item: Item
        init(_ player: Player, _ item: Item) { (self.player, self.item) = (player, item) }
    }

    private final class FunctionRole {
        unowned let player: Player
        let number: Int
        init(_ player: Player, _ number: Int) { (self.player, self.number) = (player, number) }
    }

    private let loop = RLRunLoopGetCurrent()
    private let modes: [OpaquePointer]
    private var handles: [Item: OpaquePointer] = [:]
    private var roles: [AnyObject] = []
    private var functionRoles: [FunctionRole] = []
    private let now = RLAbsoluteTimeGetCurrent()

    init(_ script: Script, _ player: Player) {
        modes = [kRLRunLoopDefaultMode, RLStringMakeConstant("second"), RLStringMakeConstant("third"), kRLRunLoopCommonModes]
        functionRoles = (0..<Script.functionCount).map { FunctionRole(player, $0) }
        for (index, order) in script.sourceOrders.enumerated() { makeSource(player, index, order) }
        for (index, timer) in script.timers.enumerated() { makeTimer(player, index, timer) }
        for (index, observer) in script.observers.enumerated() { makeObserver(player, index, observer) }
        let sentinel = RLRunLoopObserverCreate(nil, 32, 1, .max, { _, _, _ in RLRunLoopStop(RLRunLoopGetCurrent()) }, nil)
        for mode in ScriptMode.runnable { RLRunLoopAddObserver(loop, sentinel, modes[mode.rawValue]) }
        RLRelease(UnsafeRawPointer(sentinel))
    }

    deinit { for handle in handles.values { RLRelease(UnsafeRawPointer(handle)) } }

    private func role(_ player: Player, _ item: Item) -> UnsafeMutableRawPointer {
        let role = Role(player, item)
        roles.append(role)
        return Unmanaged.passUnretained(role).toOpaque()
    }

    private static func called(_ info: UnsafeMutableRawPointer?, activity: UInt = 0) {
        let role = Unmanaged<Role>.fromOpaque(info!).takeUnretainedValue()
        switch role.item {
        case .source(let index): role.player.called(.source(index))
        case .timer(let index): role.player.called(.timer(index))
        case .observer(let index): role.player.called(.observer(index, activity: activity))
        }
    }

    private func makeSource(_ player: Player, _ index: Int, _ order: Int) {
        var context = RLRunLoopSourceContext()
        context.info = role(player, .source(index))
        context.perform = { RealLoop.called($0) }
        handles[.source(index)] = RLRunLoopSourceCreate(nil, order, &context)
    }

    private func makeTimer(_ player: Player, _ index: Int, _ timer: Script.Timer) {
        var context = RLRunLoopTimerContext()
        context.info = role(player, .timer(index))
        handles[.timer(index)] = RLRunLoopTimerCreate(
            nil, date(timer.date), timer.repeats ? 1e6 : 0, 0, 0, { RealLoop.called($1) }, &context)
    }

    private func makeObserver(_ player: Player, _ index: Int, _ observer: Script.Observer) {
        var context = RLRunLoopObserverContext()
        context.info = role(player, .observer(index))
        handles[.observer(index)] = RLRunLoopObserverCreate(
            nil, observer.activities, observer.repeats ? 1 : 0, observer.order, { RealLoop.called($2, activity: $1) }, &context)
    }

    /// Returns the date as an absolute time. Past dates are a second ago, a tenth of a millisecond apart.
    private func date(_ date: TimerDate) -> Double {
        switch date {
        case .past(let slot): now - 1 + Double(slot) * 1e-4
        case .future: now + 1e6
        }
    }

    func act(_ step: Step) -> Event? {
        switch step {
        case .add(let item, let mode): add(item, modes[mode.rawValue])
        case .remove(let item, let mode): remove(item, modes[mode.rawValue])
        case .invalidate(let item): invalidate(item)
        case .keep(let item, let keeps): keep(item, keeps ? 1 : 0)
        case .signal(let index): RLRunLoopSourceSignal(handles[.source(index)])
        case .setDate(let index, let date): RLRunLoopTimerSetNextFireDate(handles[.timer(index)], self.date(date))
        case .perform(let number, let mode):
            _ = RLRunLoopPerformFunction(
                loop, UnsafeRawPointer(modes[mode.rawValue]),
                { info in
                    let role = Unmanaged<FunctionRole>.fromOpaque(info!).takeUnretainedValue()
                    role.player.called(.function(role.number))
                }, info(number))
        case .cancel(let number): return .cancelled(RLRunLoopCancelPerformFunction(loop, nil, info(number)))
        case .addCommon(let mode): RLRunLoopAddCommonMode(loop, modes[mode.rawValue])
        case .stop: RLRunLoopStop(loop)
        case .wakeUp: RLRunLoopWakeUp(loop)
        case .run(let mode, let isLong, let onlyOne):
            return .returned(RLRunLoopRunInMode(modes[mode.rawValue], isLong ? 1e9 : 0, onlyOne ? 1 : 0))
        }
        return nil
    }

    private func info(_ number: Int) -> UnsafeMutableRawPointer { Unmanaged.passUnretained(functionRoles[number]).toOpaque() }

    private func add(_ item: Item, _ mode: OpaquePointer) {
        switch item {
        case .source: RLRunLoopAddSource(loop, handles[item], mode)
        case .timer: RLRunLoopAddTimer(loop, handles[item], mode)
        case .observer: RLRunLoopAddObserver(loop, handles[item], mode)
        }
    }

    private func remove(_ item: Item, _ mode: OpaquePointer) {
        switch item {
        case .source: RLRunLoopRemoveSource(loop, handles[item], mode)
        case .timer: RLRunLoopRemoveTimer(loop, handles[item], mode)
        case .observer: RLRunLoopRemoveObserver(loop, handles[item], mode)
        }
    }

    private func keep(_ item: Item, _ keeps: UInt8) {
        switch item {
        case .source: RLRunLoopSourceSetKeepsModeRunning(handles[item], keeps)
        case .timer: RLRunLoopTimerSetKeepsModeRunning(handles[item], keeps)
        case .observer: break
        }
    }

    private func invalidate(_ item: Item) {
        switch item {
        case .source: RLRunLoopSourceInvalidate(handles[item])
        case .timer: RLRunLoopTimerInvalidate(handles[item])
        case .observer: RLRunLoopObserverInvalidate(handles[item])
        }
    }
}
