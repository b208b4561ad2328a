import CLinux
import CRunLoopKit

extension Stream {
    /// The state of a stream, including the events that have yet to be reported to the program.
    struct State: OptionSet {
        let rawValue: UInt32
        /// The stream is closed, and no longer has a watch.
        static var closed: State { State(rawValue: 1 << 0) }
        /// The connection is still being established: nothing is written.
        static var connecting: State { State(rawValue: 1 << 1) }
        /// The program has paused reading.
        static var paused: State { State(rawValue: 1 << 2) }
        /// A chunk was too long: reading stops until another rule is set.
        static var stuck: State { State(rawValue: 1 << 3) }
        /// The descriptor is no longer read: it is at its end, has failed or cannot be read, or the stream `isUnread`.
        static var readingOver: State { State(rawValue: 1 << 4) }
        /// The end or the failure of reading has been reported, or there is nothing to report.
        static var toldOver: State { State(rawValue: 1 << 5) }
        /// A thread is delivering: no other thread does, nor does a nested run.
        static var delivering: State { State(rawValue: 1 << 6) }
        /// The stream waits for the watch to report room to write.
        static var awaitingRoom: State { State(rawValue: 1 << 7) }
        /// Nothing can be written any more.
        static var writingFailed: State { State(rawValue: 1 << 8) }
        /// The program has ended writing.
        static var shutdown: State { State(rawValue: 1 << 9) }
        /// Everything is written, and the peer of a socket has been notified of the end.
        static var shutdownDone: State { State(rawValue: 1 << 10) }
        /// The queue has reached its high-water mark, and the program or the feeder waits to be notified that it has shrunk.
        static var full: State { State(rawValue: 1 << 11) }
        /// To be reported: the stream is open.
        static var tellsOpen: State { State(rawValue: 1 << 12) }
        /// To be reported: the queue has shrunk.
        static var tellsRoom: State { State(rawValue: 1 << 13) }
        /// To be reported: `writeFailure`.
        static var tellsWriteFailure: State { State(rawValue: 1 << 14) }
        /// The filter is open: it has agreed with its peer.
        static var filterOpen: State { State(rawValue: 1 << 15) }
        /// Bytes that were written with `later` wait for the next pass.
        static var flushLater: State { State(rawValue: 1 << 16) }
        /// The filter is being called with bytes that were read: what it delivers is passed on afterwards.
        static var receiving: State { State(rawValue: 1 << 17) }
        /// The stream is to be closed at the end of the current call, by `leave` or `endService`.
        static var closesNext: State { State(rawValue: 1 << 18) }
        /// The handle is in a mode of a loop.
        static var inLoop: State { State(rawValue: 1 << 19) }
        /// The stream has a reference to its handle: while the handle is in a loop, and until calls by loops have ended.
        static var holdsHandle: State { State(rawValue: 1 << 20) }
        /// The stream has a filter.
        static var hasFilter: State { State(rawValue: 1 << 21) }
        /// The buffer has bytes, or had some before. Unless this is set, the buffer, which is outside the first two cache lines of a
        /// stream, need not be read. The next three flags serve the same purpose for other fields.
        static var usesBuffer: State { State(rawValue: 1 << 22) }
        /// The queue has bytes, or had some before.
        static var usesQueue: State { State(rawValue: 1 << 23) }
        /// There are completions.
        static var hasCompletions: State { State(rawValue: 1 << 24) }
        /// A chunk is something other than whatever has arrived.
        static var hasRule: State { State(rawValue: 1 << 25) }
        /// A call that delivers is to resume reading and delivering at its end, as was requested meanwhile.
        static var readsOn: State { State(rawValue: 1 << 26) }
        /// The stream has an idle limit, and fails when it has been idle for that long.
        static var hasIdleLimit: State { State(rawValue: 1 << 27) }
        /// Too many answers of the filter are queued: the descriptor is not read until the peer has read some of them.
        static var awaitsReader: State { State(rawValue: 1 << 28) }
        /// The filter was open, but at present holds back writes and waits for its peer.
        static var holdsWrites: State { State(rawValue: 1 << 29) }
        /// What is received is written to another stream or to this one.
        static var forwards: State { State(rawValue: 1 << 30) }
        /// Reading rests: the queue of the target is full, or bytes are being written to the target.
        static var held: State { State(rawValue: 1 << 31) }
        /// A write goes directly to the descriptor if the stream is in none of these states.
        static var mattersToWriting: State {
            [.closed, .connecting, .awaitingRoom, .writingFailed, .shutdown, .full, .tellsRoom, .flushLater, .hasFilter, .usesQueue]
        }
    }

    /// Why a direction has failed, or success.
    struct Failure: BitwiseCopyable {
        var result = RLStreamResult(kRLStreamSuccess)
        /// An errno value; with `kRLStreamNotFound`, an error of getaddrinfo.
        var error: Int32 = 0
        /// Whether the stream as a whole has failed, and not its filter or a read. That is reported even if the program has paused reading
        /// and has not received all bytes that arrived before.
        var isOfStream = false
        /// The failure as an errno value.
        var number: Int32 { result == RLStreamResult(kRLStreamNotFound) ? EHOSTUNREACH : error }
    }
}
