import CLinux
import CLinuxKit
import Synchronization

/// The place of our handler among the handlers of a signal: what it replaced, and whether it is in front.
///
/// A program may install a handler over ours while there are objects, which then calls ours, or does not. When ours is wanted again, and is
/// not in front, it is installed in front of that one, too. So it may be there twice: in front, and behind a handler of the program.
struct HandlerPlace: ~Copyable {
    typealias Handler = @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

    /// An action that was in force. There are as many as there were different ones, and they are never freed: a handler may read one at any
    /// time.
    private struct Action: ~Copyable {
        /// Written once.
        let action: sigaction
        /// Of an action for one signal (SA_RESETHAND): whether there was that signal. Any thread.
        let isUsedUp: Atomic<Bool>
        /// Under the lock.
        var next: ActionPointer?
    }

    private typealias ActionPointer = UnsafeMutablePointer<Action>

    /// What our handler calls next.
    enum Call {
        /// Nothing: what it replaced was no function.
        case nothing
        /// What it replaced.
        case replaced
        /// What it replaced the second time, which may call our handler again.
        case replacedAgain
        /// What it replaced the first time: the handler it replaced the second time has called it.
        case fromBehind
    }

    private let number: Int32
    /// All actions that were in force. Under the lock.
    private let actions: Atomic<UInt>
    /// What our handler has replaced (an `Action`), 0 before the first time. Written under the lock, read by handlers.
    private let replaced: Atomic<UInt>
    /// What it has replaced while it was behind that, 0 if it is not. Written under the lock, read by handlers.
    private let replacedAgain: Atomic<UInt>
    /// Whether our handler was installed and not taken away again. Under the lock.
    private let isPresent: Atomic<Bool>

    /// nil if out of memory. Remembers what is in force now, so that entering needs no memory, unless that changes.
    init?(_ number: Int32) {
        self.number = number
        actions = Atomic(0)
        replaced = Atomic(0)
        replacedAgain = Atomic(0)
        isPresent = Atomic(false)
        var current = sigaction()
        if linux_get_action(number, &current) != 0 || kept(&current) == nil { return nil }
    }

    /// The copy of an action; nil if out of memory. Under the lock.
    private func kept(_ action: inout sigaction) -> ActionPointer? {
        var known = ActionPointer(bitPattern: actions.load(ordering: .relaxed))
        while let here = known {
            var other = here.pointee.action
            if linux_actions_are_equal(&other, &action) != 0 { return here }
            known = here.pointee.next
        }
        guard let memory = malloc(MemoryLayout<Action>.stride) else { return nil }
        let new = memory.bindMemory(to: Action.self, capacity: 1)
        let next = ActionPointer(bitPattern: actions.load(ordering: .relaxed))
        new.initialize(to: Action(action: action, isUsedUp: Atomic(false), next: next))
        actions.store(UInt(bitPattern: new), ordering: .relaxed)
        return new
    }

    /// Installs our handler in front of what is in force, unless it is there. Under the lock.
    func enter(_ handler: Handler) {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) == 0 else { return }
        guard let before = kept(&current) else {
            return Misuse.warn("RLSignal", "RLRunLoopAddSource", "out of memory: the signal is not caught")
        }
        before.pointee.isUsedUp.store(false, ordering: .relaxed)
        if isPresent.exchange(true, ordering: .relaxed) {
            replacedAgain.store(UInt(bitPattern: before), ordering: .sequentiallyConsistent)
        } else {
            replaced.store(UInt(bitPattern: before), ordering: .sequentiallyConsistent)
        }
        _ = linux_catch(number, handler, &current)
    }

    /// Installs what our handler has replaced, if it is in front. Otherwise it stays where it is. Under the lock.
    func leave(_ handler: Handler) {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) != 0 else { return }
        let again = replacedAgain.load(ordering: .relaxed)
        guard let before = ActionPointer(bitPattern: again != 0 ? again : replaced.load(ordering: .relaxed)) else { return }
        var action = before.pointee.isUsedUp.load(ordering: .relaxed) ? sigaction() : before.pointee.action
        _ = linux_set_action(number, &action)
        if again != 0 {
            replacedAgain.store(0, ordering: .sequentiallyConsistent)
        } else {
            // A handler that has begun goes on to what it replaced.
            isPresent.store(false, ordering: .relaxed)
        }
    }

    // MARK: in the handler

    private var bit: UInt64 { 1 << UInt64(number - 1) }

    /// What a handler that has begun now calls next, and a copy of that action. Async-signal-safe.
    func nextAction(_ copy: inout sigaction) -> Call {
        let isBehind = linux_chained_signals() & bit != 0
        let again = replacedAgain.load(ordering: .sequentiallyConsistent)
        let isInFront = again != 0 && !isBehind
        let address = isInFront ? again : replaced.load(ordering: .sequentiallyConsistent)
        guard let action = ActionPointer(bitPattern: address) else { return isBehind ? .fromBehind : .nothing }
        copy = action.pointee.action
        let isUsedUp = linux_action_is_for_once(&copy) != 0 && action.pointee.isUsedUp.exchange(true, ordering: .relaxed)
        if isUsedUp { copy = sigaction() }
        return isBehind ? .fromBehind : isInFront ? .replacedAgain : .replaced
    }

    /// There is no object, but another part of the program has installed our handler again, which it had found there earlier. If what
    /// that replaced was the default, it is installed, and the signal comes again. Async-signal-safe; without the lock, so an object may be
    /// added meanwhile: either that finds the default, or `isUnwatched` is false then.
    func actByDefault(_ action: inout sigaction, _ handler: Handler, _ isUnwatched: () -> Bool) {
        var current = sigaction()
        if linux_action_is_default(&action) == 0 || linux_get_action(number, &current) != 0 { return }
        if linux_action_is(&current, handler) == 0 { return }
        _ = linux_set_action(number, &action)
        if isUnwatched() { linux_raise(number) } else { _ = linux_set_action(number, &current) }
    }

    /// Makes the call, if the action is a function. Async-signal-safe. Calls user code.
    func call(
        _ call: Call, _ action: inout sigaction, _ information: UnsafeMutablePointer<siginfo_t>, _ context: UnsafeMutableRawPointer?
    ) {
        if linux_action_is_function(&action) == 0 { return }
        // Only where that can call our handler: a longjmp() out of a function of the program would leave the bit set.
        if call == .replacedAgain { linux_set_chained_signals(linux_chained_signals() | bit) }
        linux_call_action(&action, number, information, context)
        if call == .replacedAgain { linux_set_chained_signals(linux_chained_signals() & ~bit) }
    }
}
