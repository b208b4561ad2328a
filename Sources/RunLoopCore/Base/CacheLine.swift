/// Padding: keeps fields that different threads use in different cache lines. Otherwise each write to one field takes the line away
/// from the readers of the other, about 100 ns each time.
struct CacheLine: BitwiseCopyable {
    private let nothing: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
