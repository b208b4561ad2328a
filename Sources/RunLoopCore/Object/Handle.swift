import Synchronization

/// Converts the handles that C programs hold into the library's objects, and back. No other file converts them.
enum Handle {
    /// Returns the object behind `handle` for the duration of a call: adds no reference, since the client's own must outlive the call. If
    /// `handle` is NULL or not the address of an object of kind `Storage`, reports that once, which may call the client's error handler,
    /// and returns nil. Recognizes a destroyed object until its memory is used again, but reads any aligned address, whether or not it is
    /// mapped. One load. Any thread; call without a lock held.
    @inline(__always)
    static func borrow<Storage: ObjectStorage & ~Copyable>(
        _ handle: OpaquePointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        borrow(UnsafeRawPointer(handle), function, parameter)
    }

    /// Does what the other `borrow` does, for a handle that the header declares as RLTypeRef.
    @inline(__always)
    static func borrow<Storage: ObjectStorage & ~Copyable>(
        _ handle: UnsafeRawPointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        guard let object = checked(handle, Storage.kind, function, parameter) else { return nil }
        return storage(object)
    }

    /// Does what `borrow` does, for a parameter that may be NULL: sets `object` to nil then. Returns false after a report.
    @inline(__always)
    static func borrow<Storage: ObjectStorage & ~Copyable>(
        _ handle: OpaquePointer?, into object: inout UnsafeMutablePointer<Storage>?, _ function: Name, _ parameter: Name
    ) -> Bool {
        object = handle == nil ? nil : borrow(handle, function, parameter)
        return handle == nil || object != nil
    }

    /// Returns `handle` if its object is of this kind; otherwise reports it and returns nil.
    @inline(never)
    private static func checked(
        _ handle: UnsafeRawPointer?, _ kind: Kind, _ function: Name, _ parameter: Name
    ) -> UnsafeRawPointer? {
        if let handle, isKind(kind, handle) { return handle }
        reportWrong(handle, kind, function, parameter)
        return nil
    }

    /// Reports a handle of the wrong kind. The parameter is the kind rather than its name, to keep the calling code short.
    @inline(never)
    private static func reportWrong(_ handle: UnsafeRawPointer?, _ kind: Kind, _ function: Name, _ parameter: Name) {
        Misuse.report(function, parameter, expected: kind.name, got: handle)
    }

    /// Returns the object behind a handle whose kind the caller has checked.
    static func storage<Storage: ObjectStorage & ~Copyable>(_ handle: UnsafeRawPointer) -> UnsafeMutablePointer<Storage> {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: Storage.self)
    }

    /// Returns the header of an object of any kind. The caller has checked that the handle is that of a live object.
    static func header(_ handle: UnsafeRawPointer) -> UnsafeMutablePointer<ObjectHeader> {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: ObjectHeader.self)
    }

    /// Returns the item behind a handle. The caller has checked that it is a source, timer or observer.
    static func item(_ handle: UnsafeRawPointer) -> ItemPointer {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: ItemHeader.self)
    }

    /// Returns the kind of the object behind a handle; nil for NULL, a destroyed object or anything else.
    @inline(__always)
    static func kind(of handle: UnsafeRawPointer?) -> Kind? {
        guard let handle else { return nil }
        return Kind(rawValue: tag(of: handle))
    }

    /// Whether the object behind a handle is of this kind. One load.
    static func isKind(_ kind: Kind, _ handle: UnsafeRawPointer) -> Bool { tag(of: handle) == kind.rawValue }

    /// Whether the object behind a handle, which may be any address, is of this kind and has exactly one client reference. Fast paths read
    /// the adjacent tag and count with a single load: the fewer loads a call executes, the more calls can wait for memory at the same time.
    @inline(__always)
    static func isKindWithOneReference(_ kind: Kind, _ handle: UnsafeRawPointer) -> Bool {
        if UInt(bitPattern: handle) & 7 != 0 { return false }
        let header = handle.assumingMemoryBound(to: Atomic<UInt64>.self).pointee.load(ordering: .acquiring)
        return header == 1 &<< 32 | UInt64(kind.rawValue)
    }

    /// Returns the first word of an object. Handles come from clients and may be any address: a misaligned one is not read and has the tag
    /// 0.
    private static func tag(of handle: UnsafeRawPointer) -> UInt32 {
        UInt(bitPattern: handle) & 7 == 0 ? handle.load(as: UInt32.self) : 0
    }
}

extension UnsafeMutablePointer where Pointee: ObjectStorage & ~Copyable {
    /// The handle by which C programs refer to this object.
    var handle: OpaquePointer { OpaquePointer(self) }
}
