/// The one place where a C handle becomes one of our objects, and back.
enum Handle {
    /// The object behind `handle` if it is of the wanted kind; otherwise nil, and one diagnostic.
    /// One load. Any thread. Calls the client's error handler if there is something to report.
    @inline(__always)
    static func borrowInlined<Storage: ObjectStorage & ~Copyable>(
        _ handle: OpaquePointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        if let handle = UnsafeRawPointer(handle), isKind(Storage.kind, handle) { return storage(handle) }
        reportWrong(UnsafeRawPointer(handle), Storage.kind, function, parameter)
        return nil
    }

    /// The same where a call matters less than fifty bytes of code: everywhere but on hot paths.
    @inline(__always)
    static func borrow<Storage: ObjectStorage & ~Copyable>(
        _ handle: OpaquePointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        borrow(UnsafeRawPointer(handle), function, parameter)
    }

    /// The same for a handle that the header calls RLTypeRef.
    @inline(__always)
    static func borrow<Storage: ObjectStorage & ~Copyable>(
        _ handle: UnsafeRawPointer?, _ function: Name, _ parameter: Name
    ) -> UnsafeMutablePointer<Storage>? {
        guard let object = object(handle, Storage.kind, function, parameter) else { return nil }
        return storage(object)
    }

    /// `handle` if it is of this kind; otherwise nil, and one diagnostic.
    @inline(never)
    private static func object(
        _ handle: UnsafeRawPointer?, _ kind: Kind, _ function: Name, _ parameter: Name
    ) -> UnsafeRawPointer? {
        if let handle, isKind(kind, handle) { return handle }
        reportWrong(handle, kind, function, parameter)
        return nil
    }

    /// A number is shorter to pass than a name.
    @inline(never)
    private static func reportWrong(_ handle: UnsafeRawPointer?, _ kind: Kind, _ function: Name, _ parameter: Name) {
        Misuse.report(function, parameter, expected: kind.name, got: handle)
    }

    /// The object behind a handle whose kind the caller has looked at.
    @inline(__always)
    static func storage<Storage: ObjectStorage & ~Copyable>(_ handle: UnsafeRawPointer) -> UnsafeMutablePointer<Storage> {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: Storage.self)
    }

    /// The header of a live object of any kind: the caller has looked at its kind.
    @inline(__always)
    static func header(_ handle: UnsafeRawPointer) -> UnsafeMutablePointer<ObjectHeader> {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: ObjectHeader.self)
    }

    /// The common beginning of sources, timers and observers: the caller has looked at its kind.
    static func item(_ handle: UnsafeRawPointer) -> ItemPointer {
        UnsafeMutableRawPointer(mutating: handle).assumingMemoryBound(to: ItemHeader.self)
    }

    /// What kind of object a handle stands for; nil for NULL, a released object or something else.
    @inline(__always)
    static func kind(of handle: UnsafeRawPointer?) -> Kind? {
        guard let handle else { return nil }
        return Kind(rawValue: tag(of: handle))
    }

    /// Whether a handle stands for an object of this kind. One load.
    @inline(__always)
    static func isKind(_ kind: Kind, _ handle: UnsafeRawPointer) -> Bool { tag(of: handle) == kind.rawValue }

    /// Handles come from clients: anything may be in them, so an odd address is not even read.
    @inline(__always)
    private static func tag(of handle: UnsafeRawPointer) -> UInt32 {
        UInt(bitPattern: handle) & 7 == 0 ? handle.load(as: UInt32.self) : 0
    }
}

extension UnsafeMutablePointer where Pointee: ObjectStorage & ~Copyable {
    /// The handle that C knows this object by.
    @inline(__always)
    var handle: OpaquePointer { OpaquePointer(self) }
}
