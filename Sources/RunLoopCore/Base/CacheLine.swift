/// Padding that keeps fields which different threads use in different cache lines. Otherwise each write to one field would take the line
/// away from the readers of the other, which costs about 100 ns each time.
struct CacheLine: BitwiseCopyable {
    private let nothing: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
}
