import CLinux
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLStreamFilter.h

private func borrow(_ stream: OpaquePointer?, _ function: Name) -> StreamPointer? { KitObject.borrow(stream, function, "stream") }

@implementation @c
public func RLStreamSetFilter(_ stream: OpaquePointer?, _ filter: UnsafePointer<RLStreamFilter>?) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamSetFilter") else { return 0 }
    guard let filter = filter?.pointee else {
        Misuse.report("RLStreamSetFilter", "filter", expected: "a filter", got: "NULL")
        return 0
    }
    if filter.version != 0 {
        Misuse.report("RLStreamSetFilter", "filter", "version must be 0")
        return 0
    }
    if filter.start == nil || filter.receive == nil || filter.write == nil || filter.shutdown == nil {
        Misuse.report("RLStreamSetFilter", "filter", "a function is NULL")
        return 0
    }
    return stream.setFilter(filter) ? 1 : 0
}

@implementation @c
public func RLStreamGetFilterInfo(
    _ stream: OpaquePointer?, _ receive: RLStreamFilterFunction?
) -> UnsafeMutableRawPointer? {
    guard let stream = borrow(stream, "RLStreamGetFilterInfo"), let receive else { return nil }
    return stream.filterInfo(unsafeBitCast(receive, to: UnsafeRawPointer.self))
}

@implementation @c
public func RLStreamFilterDeliver(_ stream: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) {
    guard let stream = borrow(stream, "RLStreamFilterDeliver") else { return }
    if length < 0 { return Misuse.report("RLStreamFilterDeliver", "length", "negative") }
    if let bytes, length > 0 { stream.deliverFiltered(bytes, length) }
}

@implementation @c
public func RLStreamFilterSend(_ stream: OpaquePointer?, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> UInt8 {
    guard let stream = borrow(stream, "RLStreamFilterSend") else { return 0 }
    guard let bytes, length >= 0 else {
        Misuse.report("RLStreamFilterSend", "bytes", "NULL, or a negative length")
        return 0
    }
    return stream.sendFiltered(bytes, length) ? 1 : 0
}

@implementation @c
public func RLStreamFilterOpen(_ stream: OpaquePointer?) { borrow(stream, "RLStreamFilterOpen")?.openFilter() }

@implementation @c
public func RLStreamFilterHoldWrites(_ stream: OpaquePointer?, _ hold: UInt8) {
    borrow(stream, "RLStreamFilterHoldWrites")?.holdWrites(hold != 0)
}

@implementation @c
public func RLStreamFilterEnd(_ stream: OpaquePointer?) { borrow(stream, "RLStreamFilterEnd")?.endFilter(Stream.Failure()) }

@implementation @c
public func RLStreamFilterFail(_ stream: OpaquePointer?, _ result: RLStreamResult, _ error: Int32) {
    guard let stream = borrow(stream, "RLStreamFilterFail") else { return }
    if result == RLStreamResult(kRLStreamSuccess) { return Misuse.report("RLStreamFilterFail", "result", "is kRLStreamSuccess") }
    stream.endFilter(Stream.Failure(result: result, error: error))
}
