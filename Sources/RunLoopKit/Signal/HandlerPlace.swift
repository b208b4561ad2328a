import CLinux
import CLinuxKit
import Synchronization

/// The position of the kit's handler in a signal's chain of handlers: what it replaced, and whether it is in front. "The lock" is the
/// kit's.
///
/// While there are objects, a program may install a handler in front of the kit's, which may or may not call the kit's. If the kit's
/// handler is needed again and is not in front, it is installed in front of that one, too. So it may be in the chain several times, each
/// time behind a handler of the program. It finds out which of these positions it is called at by counting its active calls on the thread.
struct HandlerPlace: ~Copyable {
    typealias Handler = @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

    /// An action that was in force, stored once for each distinct one. Never freed, because a handler may read it at any time.
    private struct Action: ~Copyable {
        /// The action. Written once.
        let action: sigaction
        /// For a one-shot action (SA_RESETHAND): whether its signal has occurred. Any thread.
        let isUsedUp: Atomic<Bool>
        /// The next action in the list. Under the lock.
        var next: ActionPointer?
    }

    private typealias ActionPointer = UnsafeMutablePointer<Action>

    /// How the kit's handler was called, and what its next call may lead to.
    struct Call {
        /// Whether the kernel called it, and not a handler that it has called itself.
        let isFirst: Bool
        /// Whether the handler that it calls next may call it again.
        let mayComeBack: Bool
    }

    /// The number of positions that the kit's handler may have in the chain.
    private static var layerLimit: Int { 16 }

    private let number: Int32
    /// The list of all actions that were in force. Under the lock.
    private let actions: Atomic<UInt>
    /// For each layer, the `Action` that the kit's handler replaced. A layer is added each time the handler is installed in front of one
    /// that hides it. Written under the lock, read by handlers.
    private let replaced: UnsafeMutablePointer<Atomic<UInt>>?
    /// The number of layers; at least one after the first installation. Written under the lock, read by handlers.
    private let layers: Atomic<Int>
    /// Whether the kit's handler was installed and has not been removed since. Under the lock.
    private let isPresent: Atomic<Bool>

    /// Records the action in force now, so that `enter` needs no memory unless the action changes. nil if out of memory.
    init?(_ number: Int32) {
        replaced = calloc(Self.layerLimit, MemoryLayout<Atomic<UInt>>.stride)?.assumingMemoryBound(to: Atomic<UInt>.self)
        self.number = number
        actions = Atomic(0)
        layers = Atomic(0)
        isPresent = Atomic(false)
        var current = sigaction()
        if replaced != nil && linux_get_action(number, &current) == 0 && kept(&current) != nil { return }
        free(replaced)
        return nil
    }

    /// Returns the permanent copy of an action; nil if out of memory. The caller holds the lock.
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

    /// Installs the kit's handler in front of the action in force, unless it is that action. Returns what prevents that, for `Misuse.warn`;
    /// nil on success. The caller holds the lock.
    func enter(_ handler: Handler) -> Name? {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) == 0 else { return nil }
        guard let before = kept(&current) else { return "out of memory: the signal is not caught" }
        let layer = isPresent.load(ordering: .relaxed) ? layers.load(ordering: .relaxed) : 0
        if layer == Self.layerLimit { return "too many chained handlers: the signal is not caught" }
        before.pointee.isUsedUp.store(false, ordering: .relaxed)
        isPresent.store(true, ordering: .relaxed)
        replaced?[layer].store(UInt(bitPattern: before), ordering: .sequentiallyConsistent)
        layers.store(layer + 1, ordering: .sequentiallyConsistent)
        _ = linux_catch(number, handler, &current)
        return nil
    }

    /// If the kit's handler is in front, removes it by installing what it replaced. Otherwise it stays where it is. The caller holds the
    /// lock.
    func leave(_ handler: Handler) {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) != 0 else { return }
        let layer = max(layers.load(ordering: .relaxed) - 1, 0)
        guard let before = ActionPointer(bitPattern: replaced?[layer].load(ordering: .relaxed) ?? 0) else { return }
        var action = before.pointee.isUsedUp.load(ordering: .relaxed) ? sigaction() : before.pointee.action
        _ = linux_set_action(number, &action)
        // The first layer stays recorded: a handler that has already begun continues to what it replaced.
        if layer > 0 { layers.store(layer, ordering: .sequentiallyConsistent) } else { isPresent.store(false, ordering: .relaxed) }
    }

    // MARK: in the handler

    /// Copies the action that a handler which has just begun calls next; an empty one if there is none. Marks a one-shot action as used.
    /// Async-signal-safe.
    func nextAction(_ copy: inout sigaction) -> Call {
        let depth = Int(linux_signal_depth(number))
        let layer = max(layers.load(ordering: .sequentiallyConsistent) - 1 - depth, 0)
        let call = Call(isFirst: depth == 0, mayComeBack: layer > 0)
        guard let action = ActionPointer(bitPattern: replaced?[layer].load(ordering: .sequentiallyConsistent) ?? 0) else { return call }
        copy = action.pointee.action
        let isUsedUp = linux_action_is_for_once(&copy) != 0 && action.pointee.isUsedUp.exchange(true, ordering: .relaxed)
        if isUsedUp { copy = sigaction() }
        return call
    }

    /// Performs the default action of a signal without objects. The handler is called for one if other code has reinstalled it after
    /// finding it in force earlier. If what it replaced is the default action, installs that and raises the signal again.
    /// Async-signal-safe. The lock is not held, so an object may be added meanwhile: either that finds the default action in force, or
    /// `isUnwatched` returns false here.
    func actByDefault(_ action: inout sigaction, _ handler: Handler, _ isUnwatched: () -> Bool) {
        var current = sigaction()
        if linux_action_is_default(&action) == 0 || linux_get_action(number, &current) != 0 { return }
        if linux_action_is(&current, handler) == 0 { return }
        _ = linux_set_action(number, &action)
        if isUnwatched() { linux_raise(number) } else { _ = linux_set_action(number, &current) }
    }

    /// Calls the action if it is a function. Async-signal-safe. Calls user code.
    func call(
        _ call: Call, _ action: inout sigaction, _ information: UnsafeMutablePointer<siginfo_t>, _ context: UnsafeMutableRawPointer?
    ) {
        if linux_action_is_function(&action) == 0 { return }
        // The depth changes only if the action may call the kit's handler: a longjmp() out of a handler of the program would leave it
        // wrong.
        if call.mayComeBack { linux_change_signal_depth(number, 1) }
        linux_call_action(&action, number, information, context)
        if call.mayComeBack { linux_change_signal_depth(number, -1) }
    }
}
