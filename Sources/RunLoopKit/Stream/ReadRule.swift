import CLinux
import CLinuxKit

/// What one call is given of the bytes that have come. Under the stream's lock.
struct ReadRule: BitwiseCopyable {
    /// What is at the beginning of the bytes.
    enum Piece {
        /// So many bytes are the next piece.
        case complete(Int)
        /// More have to come.
        case incomplete
        /// The delimiter is not within the limit.
        case tooLong
    }

    private enum Kind: UInt8 { case whatever, count, delimiter }

    static var longestDelimiter: Int { 128 }

    private var kind = Kind.whatever
    /// Of a count: how many. Of a delimiter: the limit.
    private var length = 0
    private var delimiterLength = 0
    /// Memory for the longest delimiter, once there was one.
    private var delimiter: UnsafeMutableRawPointer?
    /// How many of the bytes are known to have no delimiter, or to be only the beginning of one.
    private var searched = 0

    init() {}

    /// 0: whatever has come.
    mutating func set(count: Int) {
        kind = count == 0 ? .whatever : .count
        length = count
        searched = 0
    }

    /// False if out of memory.
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

    /// The next piece. `isAtEnd`: nothing more will come, so what is there is the last. `count` is above 0.
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

    /// How many bytes it takes at least until there is a piece, if so many have come, or more may come.
    func missing(_ count: Int) -> Int { kind == .count ? max(length - count, 1) : 1 }

    /// Frees the memory.
    func free() { CLinux.free(delimiter) }
}
