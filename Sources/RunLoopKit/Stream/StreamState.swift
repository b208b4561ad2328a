import CLinux
import CRunLoopKit

extension Stream {
    /// The state of a stream, and what the program has yet to be told.
    struct State: OptionSet {
        let rawValue: UInt32
        /// The stream was closed, and has no watch any more.
        static var closed: State { State(rawValue: 1 << 0) }
        /// The connection is still being made: nothing is written.
        static var connecting: State { State(rawValue: 1 << 1) }
        /// The program has paused reading.
        static var paused: State { State(rawValue: 1 << 2) }
        /// A piece was too long: reading stops until another rule is set.
        static var stuck: State { State(rawValue: 1 << 3) }
        /// The descriptor is read no more: it is at its end, has failed, cannot be read, or the stream `isUnread`.
        static var readingOver: State { State(rawValue: 1 << 4) }
        /// The end, or why reading has failed, has been told, or there is nothing to tell.
        static var toldOver: State { State(rawValue: 1 << 5) }
        /// A thread is delivering: no other one does, nor a nested run.
        static var delivering: State { State(rawValue: 1 << 6) }
        /// The watch will call when there is room to write.
        static var awaitingRoom: State { State(rawValue: 1 << 7) }
        /// Nothing can be written any more.
        static var writingFailed: State { State(rawValue: 1 << 8) }
        /// The program has ended writing.
        static var shutdown: State { State(rawValue: 1 << 9) }
        /// Everything is written, and the peer of a socket has been told that it was all.
        static var shutdownDone: State { State(rawValue: 1 << 10) }
        /// The program, or the feeder, knows that the queue has reached its high-water mark, and is told when it has shrunk.
        static var full: State { State(rawValue: 1 << 11) }
        /// To be told: the stream is open.
        static var tellsOpen: State { State(rawValue: 1 << 12) }
        /// To be told: the queue has shrunk.
        static var tellsRoom: State { State(rawValue: 1 << 13) }
        /// To be told: `writeFailure`.
        static var tellsWriteFailure: State { State(rawValue: 1 << 14) }
        /// The filter and its peer have agreed.
        static var filterOpen: State { State(rawValue: 1 << 15) }
        /// Bytes that were written with `later` wait for the next pass.
        static var flushLater: State { State(rawValue: 1 << 16) }
        /// The filter is being called with what was read: what it delivers is told after that.
        static var receiving: State { State(rawValue: 1 << 17) }
        /// The stream is to be closed: the end of the call, in `leave` or `endService`, does that.
        static var closesNext: State { State(rawValue: 1 << 18) }
        /// The handle is in a mode of a loop.
        static var inLoop: State { State(rawValue: 1 << 19) }
        /// The stream has a reference to its handle: while that is in a loop, and until the calls have ended that a loop makes.
        static var holdsHandle: State { State(rawValue: 1 << 20) }
        /// There is a filter.
        static var hasFilter: State { State(rawValue: 1 << 21) }
        /// The buffer has bytes, or had some before. While this flag is not set, the buffer need not be looked at, which lies beyond the
        /// first two cache lines of a stream; the next three flags say the same of other fields.
        static var usesBuffer: State { State(rawValue: 1 << 22) }
        /// The queue has bytes, or had some before.
        static var usesQueue: State { State(rawValue: 1 << 23) }
        /// There are completions.
        static var hasCompletions: State { State(rawValue: 1 << 24) }
        /// A piece is not whatever has come.
        static var hasRule: State { State(rawValue: 1 << 25) }
        /// Reading was asked for while a call was under way.
        static var readsOn: State { State(rawValue: 1 << 26) }
        /// The stream has an idle limit, and fails when it has been idle for that long.
        static var hasIdleLimit: State { State(rawValue: 1 << 27) }
        /// Too many answers of the filter wait for the peer to read them: it is read no more until it has.
        static var awaitsReader: State { State(rawValue: 1 << 28) }
        /// The filter was open, and is not at present: it waits for its peer.
        static var holdsWrites: State { State(rawValue: 1 << 29) }
        /// What is received is written to another stream, or to this one.
        static var forwards: State { State(rawValue: 1 << 30) }
        /// Reading rests: the queue of the stream that this one is forwarded to is full, or a piece is being written to that stream.
        static var held: State { State(rawValue: 1 << 31) }
        /// If the stream is in none of these, a write goes straight to the descriptor.
        static var mattersToWriting: State {
            [.closed, .connecting, .awaitingRoom, .writingFailed, .shutdown, .full, .tellsRoom, .flushLater, .hasFilter, .usesQueue]
        }
    }

    /// Why a direction has failed, or success.
    struct Failure: BitwiseCopyable {
        var result = RLStreamResult(kRLStreamSuccess)
        /// A value of errno; with `kRLStreamNotFound`, an error of getaddrinfo.
        var error: Int32 = 0
        /// The failure as a value of errno.
        var number: Int32 { result == RLStreamResult(kRLStreamNotFound) ? EHOSTUNREACH : error }
    }
}
