import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// Connects a stream to a host: tries the host's addresses one after the other, each a moment after the previous one or as soon as that
/// has failed, until one is connected (RFC 8305). Under the stream's lock.
struct Connector {
    /// A connection that is being established.
    struct Attempt: KitLinked {
        let descriptor: Int32
        let watch: DescriptorWatch
        var next: UnsafeMutablePointer<Attempt>?
    }

    /// The delay in nanoseconds after which the next address is tried in parallel.
    static var headStart: UInt64 { 250_000_000 }
    /// The interval in nanoseconds at which a stream checks whether it is in the child of a fork(), where no worker looks up its host.
    static var forkCheck: UInt64 { 1_000_000_000 }

    /// The work that looks up the host's addresses, also after it is complete; nil if there is none. Retained.
    var lookUp: OpaquePointer?
    var isLookingUp = false
    /// The host's addresses; nil until they are known.
    private(set) var addresses: UnsafeMutablePointer<addrinfo>?
    /// Where the search for the next address continues: for one of the first address's family, and for one of another family.
    private var cursors: (own: UnsafeMutablePointer<addrinfo>?, other: UnsafeMutablePointer<addrinfo>?)
    private var takesOther = false
    private(set) var attempts: UnsafeMutablePointer<Attempt>?
    /// When the next address is to be tried, on the monotonic clock, in nanoseconds.
    var nextStart: UInt64 = 0
    /// When the time is up, on the monotonic clock, in nanoseconds; `.max`: never.
    let deadline: UInt64
    /// Why the look-up, or the attempt that failed last, has failed.
    var failure = Stream.Failure(result: RLStreamResult(kRLStreamFailed), error: EHOSTUNREACH)

    /// Creates a connector whose deadline is in `timeout` seconds.
    init(timeout: Double) {
        let now = linux_monotonic_time()
        deadline = timeout >= 1e9 ? .max : now + UInt64(max(timeout, 0) * 1e9)
    }

    // MARK: addresses

    /// Takes over the addresses that were found.
    mutating func take(_ answer: UnsafeMutablePointer<addrinfo>) {
        addresses = answer
        cursors = (answer, answer)
    }

    /// Returns the next address; nil if all were tried. Families take turns, so that a family that does not work causes little delay.
    mutating func nextAddress() -> UnsafeMutablePointer<addrinfo>? {
        let address = takesOther ? nextOther() ?? nextOwn() : nextOwn() ?? nextOther()
        takesOther.toggle()
        return address
    }

    private mutating func nextOwn() -> UnsafeMutablePointer<addrinfo>? {
        while let address = cursors.own {
            cursors.own = address.pointee.ai_next
            if isOwn(address) { return address }
        }
        return nil
    }

    private mutating func nextOther() -> UnsafeMutablePointer<addrinfo>? {
        while let address = cursors.other {
            cursors.other = address.pointee.ai_next
            if !isOwn(address) { return address }
        }
        return nil
    }

    private func isOwn(_ address: UnsafeMutablePointer<addrinfo>) -> Bool { address.pointee.ai_family == addresses?.pointee.ai_family }

    /// Returns the number of seconds after which the stream has to be checked, because the next address is to be tried or the time is up.
    func delay(_ now: UInt64) -> Double {
        var rest = self
        let next = isLookingUp ? now + Self.forkCheck : rest.nextAddress() == nil ? .max : nextStart
        let time = min(deadline, next)
        return time == .max ? .infinity : Double(time &- now) * 1e-9
    }

    // MARK: attempts

    /// Adds an attempt. Returns false if out of memory; the descriptor and the watch then still belong to the caller.
    mutating func add(_ descriptor: Int32, _ watch: DescriptorWatch) -> Bool {
        guard let memory = malloc(MemoryLayout<Attempt>.stride) else { return false }
        let attempt = memory.bindMemory(to: Attempt.self, capacity: 1)
        attempt.initialize(to: Attempt(descriptor: descriptor, watch: watch, next: attempts))
        attempts = attempt
        return true
    }

    /// Returns the attempt that has this watch; nil if there is none.
    func find(_ watch: OpaquePointer?) -> UnsafeMutablePointer<Attempt>? {
        var attempt = attempts
        while let here = attempt, here.pointee.watch.watch != watch { attempt = here.pointee.next }
        return attempt
    }

    /// Removes an attempt, ends its watch, and returns its descriptor.
    mutating func take(_ attempt: UnsafeMutablePointer<Attempt>) -> Int32 {
        attempt.unlink(from: &attempts)
        let descriptor = attempt.pointee.descriptor
        attempt.pointee.watch.end()
        CLinux.free(attempt)
        return descriptor
    }

    /// Closes all attempts, cancels the look-up, and frees the addresses.
    mutating func end() {
        while let attempt = attempts { linux_close(take(attempt)) }
        if let addresses { freeaddrinfo(addresses) }
        addresses = nil
        guard let lookUp else { return }
        _ = RLWorkCancel(lookUp)
        RLRelease(UnsafeRawPointer(lookUp))
        self.lookUp = nil
    }
}

typealias ConnectorPointer = UnsafeMutablePointer<Connector>
