import CLinux
import CLinuxKit

/// Determines how many of the received bytes form the next chunk, called a piece in the code. Under the stream's lock.
struct ReadRule: BitwiseCopyable {
    /// How the received bytes begin.
    enum Piece {
        /// With a whole chunk of this many bytes.
        case complete(Int)
        /// With a part of a chunk: more bytes are needed.
        case incomplete
        /// Without a delimiter within the limit.
        case tooLong
    }

    private enum Kind: UInt8 { case whatever, count, delimiter }

    static var longestDelimiter: Int { 128 }

    private var kind = Kind.whatever
    /// With `.count`, the size of a chunk; with `.delimiter`, its maximum size.
    private var length = 0
    private var delimiterLength = 0
    /// Memory for `longestDelimiter` bytes, allocated for the first delimiter.
    private var delimiter: UnsafeMutableRawPointer?
    /// The number of bytes that have been searched without finding the whole delimiter.
    private var searched = 0

    init() {}

    /// Whether a chunk is everything that has been received.
    var isWhatever: Bool { kind == .whatever }

    /// Makes `count` the size of each chunk; 0: a chunk is everything that has been received.
    mutating func set(count: Int) {
        kind = count == 0 ? .whatever : .count
        length = count
        searched = 0
    }

    /// Ends each chunk at a delimiter of 1 to `longestDelimiter` bytes, as the caller has checked; `limit` includes the delimiter. Returns
    /// false if out of memory.
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

    /// Forgets the search, because the received bytes are replaced by others.
    mutating func restart() { searched = 0 }

    /// Finds the next chunk in `count` received bytes, at least 1. If `isAtEnd`, no more will arrive, and what is left without a delimiter
    /// is the last chunk, unless it exceeds the limit.
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

    /// Returns the minimum number of bytes that are still needed for a chunk when `count` have been received.
    func missing(_ count: Int) -> Int { kind == .count ? max(length - count, 1) : 1 }

    /// Frees the memory for the delimiter.
    func free() { CLinux.free(delimiter) }
}
