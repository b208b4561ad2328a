import CLinux
import CLinuxKit

/// Decides how many of the received bytes one call gets. Under the stream's lock.
struct ReadRule: BitwiseCopyable {
    /// What the received bytes begin with.
    enum Piece {
        /// A piece of this many bytes.
        case complete(Int)
        /// No whole piece: more bytes are needed.
        case incomplete
        /// No delimiter within the limit.
        case tooLong
    }

    private enum Kind: UInt8 { case whatever, count, delimiter }

    static var longestDelimiter: Int { 128 }

    private var kind = Kind.whatever
    /// With `.count`, the size of a piece; with `.delimiter`, the maximum size.
    private var length = 0
    private var delimiterLength = 0
    /// `longestDelimiter` bytes, allocated with the first delimiter.
    private var delimiter: UnsafeMutableRawPointer?
    /// How many bytes have been searched without finding the whole delimiter.
    private var searched = 0

    init() {}

    /// Whether a piece is all that has been received.
    var isWhatever: Bool { kind == .whatever }

    /// Makes `count` the size of each piece; 0: a piece is all that has been received.
    mutating func set(count: Int) {
        kind = count == 0 ? .whatever : .count
        length = count
        searched = 0
    }

    /// Ends each piece at a delimiter of 1 to `longestDelimiter` bytes, as the caller has checked; `limit` includes the delimiter. False if
    /// out of memory.
    mutating func set(delimiter bytes: UnsafeRawPointer, _ count: Int, limit: Int) -> Bool {
        if delimiter == nil { delimiter = malloc(Self.longestDelimiter) }
        guard let delimiter else { return false }
        memmove(delimiter, bytes, count)
        kind = .delimiter
        delimiterLength = count
        length = limit
        searched = 0
        return true
    }

    /// The bytes that were searched are gone, and others come in their place.
    mutating func restart() { searched = 0 }

    /// The next piece of `count` received bytes, which are more than 0. If `isAtEnd`, no more will come, and what is left without a
    /// delimiter is the last piece, unless it exceeds the limit.
    mutating func next(_ bytes: UnsafePointer<UInt8>, _ count: Int, isAtEnd: Bool) -> Piece {
        switch kind {
        case .whatever: return .complete(count)
        case .count: return count >= length ? .complete(length) : isAtEnd ? .complete(count) : .incomplete
        case .delimiter: return nextDelimited(bytes, count, isAtEnd)
        }
    }

    private mutating func nextDelimited(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ isAtEnd: Bool) -> Piece {
        let from = max(0, searched - (delimiterLength - 1))
        let within = min(count, length)
        if within - from >= delimiterLength, let found = linux_find(bytes + from, within - from, delimiter, delimiterLength) {
            searched = 0
            return .complete(found - UnsafeRawPointer(bytes) + delimiterLength)
        }
        if count >= length && (count > length || !isAtEnd) {
            searched = 0
            return .tooLong
        }
        searched = within
        if !isAtEnd { return .incomplete }
        searched = 0
        return .complete(count)
    }

    /// The least number of bytes still needed for a piece, when `count` have been received.
    func missing(_ count: Int) -> Int { kind == .count ? max(length - count, 1) : 1 }

    /// Frees the memory.
    func free() { CLinux.free(delimiter) }
}
