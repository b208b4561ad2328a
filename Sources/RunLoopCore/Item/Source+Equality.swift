import CRunLoop

// When two sources count as one: CFRunLoop's rules, by which a loop does not take the second.
extension SourcePointer {
    /// Whether a loop has to take this source for the other one. Any thread; calls the context's equal.
    func equals(_ other: SourcePointer) -> Bool {
        if self == other { return true }
        guard mayEqual(other) else { return false }
        guard let equal = pointee.detail?.pointee.equal else { return true }
        return RLRunLoopSourceContext.areEqual(equal, pointee.info, other.pointee.info)
    }

    /// Whether two sources may be equal: everything but what the client's equal function decides. Any thread; calls no user code.
    func mayEqual(_ other: SourcePointer) -> Bool {
        let equal = address(pointee.detail?.pointee.equal)
        return pointee.item.has(ItemHeader.valid) == other.pointee.item.has(ItemHeader.valid)
            && pointee.order == other.pointee.order && version == other.version
            && equal == address(other.pointee.detail?.pointee.equal)
            && address(pointee.detail?.pointee.hash) == address(other.pointee.detail?.pointee.hash)
            && pointee.function.isSame(as: other.pointee.function)
            && address(pointee.getPort) == address(other.pointee.getPort) && (equal != 0 || pointee.info == other.pointee.info)
    }

    private func address<Function>(_ function: Function?) -> UInt { unsafeBitCast(function, to: UInt.self) }

    /// RLHash. Equal sources have equal hashes. Any thread; calls user code if the context has a hash function.
    var contextHash: UInt {
        if let hash = pointee.detail?.pointee.hash { return RLRunLoopSourceContext.hash(hash, pointee.info) }
        return pointee.detail?.pointee.equal == nil ? UInt(bitPattern: pointee.info) : 0
    }
    /// `contextHash`, for the table of a loop.
    var hash: UInt { Bytes.mix(contextHash) }
}
