import CRunLoop

/// The constants of the header, as objects.
enum ModeName {
    static var common: StringPointer {
        get { Handle.storage(UnsafeRawPointer(kRLRunLoopCommonModes.unsafelyUnwrapped)) }
    }

    static var `default`: StringPointer {
        get { Handle.storage(UnsafeRawPointer(kRLRunLoopDefaultMode.unsafelyUnwrapped)) }
    }
}
