import CLinux
import CLinuxKit
import Synchronization

/// A call by a loop that serves a stream, and memory to read into: what can be delivered immediately is never copied. It is allocated
/// separately and listed by the thread, because the thread may end in the client's callback.
struct StreamService: BitwiseCopyable {
    let stream: StreamPointer
    /// The call in which this one is nested, for the same stream or another. Only the thread that is in both uses it.
    private var outer: StreamServicePointer?
    /// Whether the thread lists this call. If so, memory to read into follows the struct.
    fileprivate let isListed: Bool
    /// The bytes that were read and not delivered yet: in the memory to read into, or in `lent`.
    var rest: UnsafePointer<UInt8>?
    var restLength = 0
    /// The stream's buffer while it is being delivered. Bytes that arrive meanwhile go into another buffer.
    var lent = ByteBuffer()
    /// Whether the bytes to be delivered come from a filter.
    var isOfFilter = false
    /// Whether this call is the one that delivers.
    var delivers = false

    /// Creates a call for which there is no memory: the thread does not list it, and it has no `scratch` to read into.
    init(_ stream: StreamPointer) {
        self.stream = stream
        isListed = false
    }

    private init(_ stream: StreamPointer, in outer: StreamServicePointer?) {
        self.stream = stream
        self.outer = outer
        isListed = true
    }

    /// The maximum number of bytes that a stream reads at once.
    static var scratchSize: Int { 65_536 }
    fileprivate static var headerSize: Int { (MemoryLayout<StreamService>.stride + 63) & ~63 }

    /// The stream that this thread serves in its innermost call; nil if it is in none. Its handle is alive.
    static var servedStream: StreamPointer? { innermost?.pointee.stream }

    /// Begins a call, which `end` ends. Returns nil if out of memory. Any thread.
    static func begin(_ stream: StreamPointer) -> StreamServicePointer? {
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        guard let memory = thread.pointee.spare ?? firstMemory() else { return nil }
        thread.pointee.spare = nil
        let service = memory.assumingMemoryBound(to: StreamService.self)
        service.initialize(to: StreamService(stream, in: innermost))
        thread.pointee.innermost = memory
        return service
    }

    /// Ends this thread's innermost call.
    static func end() {
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        guard let service = innermost else { return }
        thread.pointee.innermost = UnsafeMutableRawPointer(service.pointee.outer)
        if thread.pointee.spare == nil { thread.pointee.spare = UnsafeMutableRawPointer(service) } else { free(service) }
    }

    /// Returns the number of calls for a stream that this thread is in.
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

    /// Registers the fork handler, once; called before each stream is created. Returns false with errno if out of memory. Any thread.
    static func prepare() -> Bool {
        ForkHandlers.register(forkIsPrepared, before: nil, inParent: nil, inChild: { StreamService.noteFork() })
    }

    /// Recounts the calls for each stream that this thread is serving. Only these continue in the child of a fork(), on its only thread.
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
        // Without a key, thread exit goes unnoticed, and calls that the thread has not finished stay as they are.
        if let endKey { pthread_setspecific(endKey, linux_this_stream_thread()) }
        return aligned_alloc(64, headerSize + scratchSize)
    }

    /// The key whose destructor runs at the exit of threads that serve streams; nil if the process has no key left.
    private static let endKey: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, { _ in threadEnds() }) == 0 ? key : nil
    }()

    /// Ends the calls that this thread was in when it exited, innermost first: they will never return.
    private static func threadEnds() {
        while let service = innermost {
            service.pointee.stream.abandon(service)
            end()
        }
        let thread = linux_this_stream_thread().unsafelyUnwrapped
        free(thread.pointee.spare)
        thread.pointee.spare = nil
        // A client's function may have ended the thread while it was ending a chain of forwarded streams.
        thread.pointee.drains = 0
    }
}

typealias StreamServicePointer = UnsafeMutablePointer<StreamService>

extension StreamServicePointer {
    /// The memory to read into; nil if there is none.
    var scratch: UnsafeMutableBufferPointer<UInt8>? {
        if !pointee.isListed { return nil }
        let memory = UnsafeMutableRawPointer(self) + StreamService.headerSize
        return UnsafeMutableBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: StreamService.scratchSize)
    }
}
