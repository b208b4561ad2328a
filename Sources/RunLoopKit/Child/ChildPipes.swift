import CLinux
import CLinuxKit
import CRunLoopKit
import Synchronization

/// This process's ends of the pipes to a child's descriptors 0, 1 and 2. They are nonblocking and close-on-exec.
struct ChildPipes: ~Copyable {
    // -1: there is no pipe, or its end was taken. Any thread.
    private let input: Atomic<Int32>
    private let output: Atomic<Int32>
    private let error: Atomic<Int32>

    /// Creates an empty set of pipes.
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

    /// Removes and returns an end, which the caller closes; -1 if there is none. Any thread.
    func take(_ number: Int32) -> Int32 { exchange(number, -1) }

    /// Stores an end, for the first time or after `take`. Any thread.
    func put(_ number: Int32, _ end: Int32) { _ = exchange(number, end) }

    private func exchange(_ number: Int32, _ end: Int32) -> Int32 {
        switch number {
        case 0: input.exchange(end, ordering: .acquiringAndReleasing)
        case 1: output.exchange(end, ordering: .acquiringAndReleasing)
        default: error.exchange(end, ordering: .acquiringAndReleasing)
        }
    }
}

/// The source of one of a child's standard descriptors.
struct ChildDescriptor: ~Copyable {
    /// A descriptor above the standard ones, which this value closes; or a constant such as `linux_spawn_inherit`.
    let source: Int32

    /// Prepares descriptor `number` of the child as the client's option says. For a new pipe, stores this process's end in `pipes`.
    init(_ number: Int32, _ option: Int32, _ pipes: borrowing ChildPipes) throws(SystemError) {
        source = option == Int32(kRLChildPipe) ? try Self.pipe(number, pipes) : option > 0 ? try Self.duplicate(option) : option
    }

    deinit {
        if source > 0 { preservingSystemError { linux_close(source) } }
    }

    /// Duplicates a descriptor to a number above the standard ones. The child's descriptors are set up one after the other, and none may
    /// overwrite the source of a later one.
    private static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
        try checked(linux_duplicate_above_standard(descriptor))
    }

    /// Creates a pipe whose ends are close-on-exec. One system call.
    static func makePipe() throws(SystemError) -> (read: Int32, write: Int32) {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        let result = withUnsafeMutableBytes(of: &ends) { linux_pipe($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: Int32.self)) }
        try checked(result)
        return ends
    }

    private static func pipe(_ number: Int32, _ pipes: borrowing ChildPipes) throws(SystemError) -> Int32 {
        let ends = try makePipe()
        let theirs = number == 0 ? ends.read : ends.write
        pipes.put(number, number == 0 ? ends.write : ends.read)
        defer { preservingSystemError { linux_close(theirs) } }
        try checked(linux_set_nonblocking(number == 0 ? ends.write : ends.read))
        return try duplicate(theirs)
    }
}
