import CRunLoop

/// The names of modes that a source has joined or left, collected under the lock so that the source's
/// schedule or cancel function can be called for each without it.
struct ModeNames: ~Copyable {
    typealias Function = @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void

    /// Each retained.
    private var names = PlainList<StringPointer>()

    init() {}

    /// The modes that are in one of the sets only, if the source wants to know of them. Under the lock.
    /// False if out of memory.
    mutating func collect(_ loop: RunLoopPointer, _ source: SourcePointer, from old: ModeSetPointer?, to new: ModeSetPointer?) -> Bool {
        guard let detail = source.pointee.detail, detail.pointee.schedule != nil || detail.pointee.cancel != nil else { return true }
        for number in 1..<loop.pointee.modes.count {
            let wasIn = old.map { $0.pointee.modes.contains(number) } ?? false
            let isIn = new.map { $0.pointee.modes.contains(number) } ?? false
            guard wasIn != isIn, let mode = loop.pointee.modes[number] else { continue }
            if !names.append(mode.pointee.name) { return false }
            mode.pointee.name.retain()
        }
        return true
    }

    /// One more. The list retains it; false if out of memory.
    mutating func append(_ name: StringPointer) -> Bool {
        guard names.append(name) else { return false }
        name.retain()
        return true
    }

    /// Calls user code, without any lock.
    func call(_ function: Function, _ info: UnsafeMutableRawPointer?, _ loop: OpaquePointer) {
        for index in 0..<names.count {
            RUNLOOP_IS_CALLING_OUT_TO_A_SOURCE_SCHEDULE_OR_CANCEL_FUNCTION(function, info, loop, names[index].handle)
        }
    }

    /// At the end, in any case.
    mutating func release() {
        for index in 0..<names.count { names[index].release() }
        names.truncate(to: 0)
    }
}
