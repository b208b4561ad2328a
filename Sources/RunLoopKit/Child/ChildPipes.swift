import CLinux
import CLinuxKit
import CRunLoopKit
import Synchronization

/// This process's ends of the pipes to a child's descriptors 0, 1 and 2. They do not block and are not inherited.
struct ChildPipes: ~Copyable {
    // -1: there is none, or it was taken. Any thread.
    private let input: Atomic<Int32>
    private let output: Atomic<Int32>
    private let error: Atomic<Int32>

    /// No pipes.
    init() {
        input = Atomic(-1)
        output = Atomic(-1)
        error = Atomic(-1)
    }

    deinit {
        for number: Int32 in 0...2 {
            let end = take(number)
            if end >= 0 { linux_close(end) }
        }
    }

    /// Takes an end, which the caller closes; -1 if there is none. Any thread.
    func take(_ number: Int32) -> Int32 { exchange(number, -1) }

    /// Puts an end back, or there for the first time. Any thread.
    func put(_ number: Int32, _ end: Int32) { _ = exchange(number, end) }

    private func exchange(_ number: Int32, _ end: Int32) -> Int32 {
        switch number {
        case 0: input.exchange(end, ordering: .acquiringAndReleasing)
        case 1: output.exchange(end, ordering: .acquiringAndReleasing)
        default: error.exchange(end, ordering: .acquiringAndReleasing)
        }
    }
}

/// What a child is to get as one of its standard descriptors.
struct ChildDescriptor: ~Copyable {
    /// A descriptor above the standard ones, which this closes; or `linux_spawn_inherit` and its like.
    let source: Int32

    /// What the option of the program says for descriptor `number`. Puts our end of a new pipe into `pipes`.
    init(_ number: Int32, _ option: Int32, _ pipes: borrowing ChildPipes) throws(SystemError) {
        source = option == Int32(kRLChildPipe) ? try Self.pipe(number, pipes) : option > 0 ? try Self.duplicate(option) : option
    }

    deinit {
        if source > 0 { preservingSystemError { linux_close(source) } }
    }

    /// Duplicates a descriptor above the standard ones: the child's own are made one after the other, and none may overwrite what a later
    /// one is made from.
    private static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
        try checked(linux_duplicate_above_standard(descriptor))
    }

    private static func pipe(_ number: Int32, _ pipes: borrowing ChildPipes) throws(SystemError) -> Int32 {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { linux_pipe($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: Int32.self)) }
        try checked(result)
        let theirs = number == 0 ? ends.read : ends.write
        pipes.put(number, number == 0 ? ends.write : ends.read)
        defer { preservingSystemError { linux_close(theirs) } }
        try checked(linux_set_nonblocking(number == 0 ? ends.write : ends.read))
        return try duplicate(theirs)
    }
}
