import CLinux
import CLinuxKit
import Synchronization

/// What a thread does with a stream in one call of its loop, and memory to read into: what can be delivered at once is never copied.
/// In memory of its own, listed by the thread, as the thread may end in the call.
struct StreamService: BitwiseCopyable {
    let stream: StreamPointer
    /// The call in which this one is nested, for the same stream or another. Only the thread that is in both uses it.
    private var outer: StreamServicePointer?
    /// Whether the thread lists this call; then memory to read into follows the struct.
    fileprivate let isListed: Bool
    /// What was read and not delivered yet: in the memory to read into, or in `lent`.
    var rest: UnsafePointer<UInt8>?
    var restLength = 0
    /// The stream's buffer while it is delivered: what comes meanwhile goes into another one.
    var lent = ByteBuffer()
    /// What is to be delivered comes from a filter.
    var isOfFilter = false
    /// This call is the one that delivers.
    var delivers = false

    /// A call for which there is no memory: the thread does not list it, and it cannot read into `scratch`.
    init(_ stream: StreamPointer) {
        self.stream = stream
        isListed = false
    }

    private init(_ stream: StreamPointer, in outer: StreamServicePointer?) {
        self.stream = stream
        self.outer = outer
        isListed = true
    }

    /// How many bytes a stream reads at once.
    static var scratchSize: Int { 65_536 }
    fileprivate static var headerSize: Int { (MemoryLayout<StreamService>.stride + 63) & ~63 }

    /// The stream that this thread serves, in the innermost call; nil if it is in none. Its handle is alive.
    static var servedStream: StreamPointer? { innermost?.pointee.stream }

    /// Begins a call; nil if out of memory. `end` ends it. Any thread.
    static func begin(_ stream: StreamPointer) -> StreamServicePointer? {
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        guard let memory = thread.pointee.spare ?? firstMemory() else { return nil }
        thread.pointee.spare = nil
        let service = memory.assumingMemoryBound(to: StreamService.self)
        service.initialize(to: StreamService(stream, in: innermost))
        thread.pointee.innermost = memory
        return service
    }

    /// Ends the innermost call.
    static func end() {
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        guard let service = innermost else { return }
        thread.pointee.innermost = UnsafeMutableRawPointer(service.pointee.outer)
        if thread.pointee.spare == nil { thread.pointee.spare = UnsafeMutableRawPointer(service) } else { free(service) }
    }

    /// How many calls for a stream this thread is in.
    private static func count(of stream: StreamPointer) -> UInt32 {
        var count: UInt32 = 0
        var next = innermost
        while let service = next {
            if service.pointee.stream == stream { count += 1 }
            next = service.pointee.outer
        }
        return count
    }

    private static let forkIsPrepared = Atomic(false)

    /// Called before each stream is made: registers the handler of fork(), once. False with errno if out of memory. Any thread.
    static func prepare() -> Bool {
        ForkHandlers.register(forkIsPrepared, before: nil, inParent: nil, inChild: { StreamService.noteFork() })
    }

    /// In the child of a fork(), on its only thread: the calls that this thread is in go on.
    private static func noteFork() {
        var next = innermost
        while let service = next {
            let stream = service.pointee.stream
            stream.pointee.services = count(of: stream)
            stream.pointee.servicesFork = linux_kit_fork_count()
            next = service.pointee.outer
        }
    }

    private static var innermost: StreamServicePointer? {
        linux_this_stream_thread().pointee.innermost?.assumingMemoryBound(to: StreamService.self)
    }

    @inline(never)
    private static func firstMemory() -> UnsafeMutableRawPointer? {
        // Without a key the thread's end is not noticed, and its calls stay as they are.
        if let endKey { pthread_setspecific(endKey, linux_this_stream_thread()) }
        return aligned_alloc(64, headerSize + scratchSize)
    }

    /// For the end of threads that serve streams; nil if the process has no key left.
    private static let endKey: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, { _ in threadEnds() }) == 0 ? key : nil
    }()

    /// The thread has ended in these calls, which will never return. Innermost first.
    private static func threadEnds() {
        while let service = innermost {
            service.pointee.stream.abandon(service)
            end()
        }
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        free(thread.pointee.spare)
        thread.pointee.spare = nil
        // A function of the client's may have ended the thread while it was ending a chain of forwarded streams.
        thread.pointee.drains = 0
    }
}

typealias StreamServicePointer = UnsafeMutablePointer<StreamService>

extension StreamServicePointer {
    /// Memory to read into; nil if there is none.
    var scratch: UnsafeMutableBufferPointer<UInt8>? {
        if !pointee.isListed { return nil }
        let memory = UnsafeMutableRawPointer(self) + StreamService.headerSize
        return UnsafeMutableBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: StreamService.scratchSize)
    }
}
