import CLinux
import CLinuxKit
import Synchronization

/// The place of our handler among the handlers of a signal: what it replaced, and whether it is in front.
///
/// A program may install a handler over ours while there are objects, which then calls ours, or does not. When ours is wanted again, and is
/// not in front, it is installed in front of that one, too. So it may be there several times, each time behind a handler of the program. It
/// finds out by how often it is being called on the thread which of these it is.
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

    /// What our handler does.
    struct Call {
        /// It was called by the kernel, not by a handler that it has called itself.
        let isFirst: Bool
        /// What it calls next may call it again.
        let mayComeBack: Bool
    }

    /// How often it may be installed in front of itself.
    private static var layerLimit: Int { 16 }

    private let number: Int32
    /// All actions that were in force. Under the lock.
    private let actions: Atomic<UInt>
    /// What our handler has replaced (an `Action`), and what it has replaced while it was behind that, and so on. Written under the lock,
    /// read by handlers.
    private let replaced: UnsafeMutablePointer<Atomic<UInt>>?
    /// How many of them there are, from the first use on at least one. Written under the lock, read by handlers.
    private let layers: Atomic<Int>
    /// Whether our handler was installed and not taken away again. Under the lock.
    private let isPresent: Atomic<Bool>

    /// nil if out of memory. Remembers what is in force now, so that entering needs no memory, unless that changes.
    init?(_ number: Int32) {
        replaced = calloc(Self.layerLimit, MemoryLayout<Atomic<UInt>>.stride)?.assumingMemoryBound(to: Atomic<UInt>.self)
        self.number = number
        actions = Atomic(0)
        layers = Atomic(0)
        isPresent = Atomic(false)
        var current = sigaction()
        if replaced == nil || linux_get_action(number, &current) != 0 || kept(&current) == nil { return nil }
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

    /// Installs our handler in front of what is in force, unless it is there. Returns what prevents that, for `Misuse.warn`. Under the
    /// lock.
    func enter(_ handler: Handler) -> Name? {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) == 0 else { return nil }
        guard let before = kept(&current) else { return "out of memory: the signal is not caught" }
        let layer = isPresent.load(ordering: .relaxed) ? layers.load(ordering: .relaxed) : 0
        if layer == Self.layerLimit { return "too many handlers over each other: the signal is not caught" }
        before.pointee.isUsedUp.store(false, ordering: .relaxed)
        isPresent.store(true, ordering: .relaxed)
        replaced?[layer].store(UInt(bitPattern: before), ordering: .sequentiallyConsistent)
        layers.store(layer + 1, ordering: .sequentiallyConsistent)
        _ = linux_catch(number, handler, &current)
        return nil
    }

    /// Installs what our handler has replaced, if it is in front. Otherwise it stays where it is. Under the lock.
    func leave(_ handler: Handler) {
        var current = sigaction()
        guard linux_get_action(number, &current) == 0, linux_action_is(&current, handler) != 0 else { return }
        let layer = max(layers.load(ordering: .relaxed) - 1, 0)
        guard let before = ActionPointer(bitPattern: replaced?[layer].load(ordering: .relaxed) ?? 0) else { return }
        var action = before.pointee.isUsedUp.load(ordering: .relaxed) ? sigaction() : before.pointee.action
        _ = linux_set_action(number, &action)
        // A handler that has begun goes on to what it replaced first.
        if layer > 0 { layers.store(layer, ordering: .sequentiallyConsistent) } else { isPresent.store(false, ordering: .relaxed) }
    }

    // MARK: in the handler

    /// What a handler that has begun now calls next: a copy of that action, which is empty if there is none. Async-signal-safe.
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
        // Only where that can call our handler: a longjmp() out of a function of the program would leave the number wrong.
        if call.mayComeBack { linux_change_signal_depth(number, 1) }
        linux_call_action(&action, number, information, context)
        if call.mayComeBack { linux_change_signal_depth(number, -1) }
    }
}
