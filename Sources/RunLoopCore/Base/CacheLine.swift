/// A cache line of nothing, to keep what different threads write apart: a write to one side would take the line away
/// from a reader of the other, about 100 ns each time.
struct CacheLine: BitwiseCopyable {
    private let nothing: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
