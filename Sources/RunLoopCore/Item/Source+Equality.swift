import CRunLoop

// When two sources are equal, by CFRunLoop's rules. A mode that has a source accepts no other source that equals it.
extension SourcePointer {
    /// Whether the sources are equal, so that a mode that has one of them does not accept the other. Any thread; may call the context's
    /// equal.
    func equals(_ other: SourcePointer) -> Bool {
        if self == other { return true }
        guard mayEqual(other) else { return false }
        guard let equal = pointee.detail?.pointee.equal else { return true }
        return RLRunLoopSourceContext.areEqual(equal, pointee.info, other.pointee.info)
    }

    /// Whether everything is equal except what the client's equal function compares. Any thread; calls no user code.
    @inline(never)
    func mayEqual(_ other: SourcePointer) -> Bool {
        let equal = address(pointee.detail?.pointee.equal)
        return pointee.item.has(.valid) == other.pointee.item.has(.valid)
            && pointee.order == other.pointee.order && version == other.version
            && equal == address(other.pointee.detail?.pointee.equal)
            && address(pointee.detail?.pointee.hash) == address(other.pointee.detail?.pointee.hash)
            && pointee.function.isSame(as: other.pointee.function)
            && address(getPort) == address(other.getPort) && (equal != 0 || pointee.info == other.pointee.info)
    }

    private func address<Function>(_ function: Function?) -> UInt { unsafeBitCast(function, to: UInt.self) }

    /// The result of RLHash. Equal sources have equal hashes. Any thread; may call the context's hash.
    var contextHash: UInt {
        if let hash = pointee.detail?.pointee.hash { return RLRunLoopSourceContext.hash(hash, pointee.info) }
        return pointee.detail?.pointee.equal == nil ? UInt(bitPattern: pointee.info) : 0
    }

    /// The `contextHash`, mixed for a loop's `RegistrationTable`. Any thread; may call the context's hash.
    var hash: UInt32 { UInt32(truncatingIfNeeded: Bytes.mix(contextHash)) }
}
