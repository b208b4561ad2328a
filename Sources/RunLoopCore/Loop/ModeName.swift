import CRunLoop

/// The constants of the header, as objects.
enum ModeName {
    static var common: StringPointer { Handle.storage(UnsafeRawPointer(kRLRunLoopCommonModes.unsafelyUnwrapped)) }
    static var `default`: StringPointer { Handle.storage(UnsafeRawPointer(kRLRunLoopDefaultMode.unsafelyUnwrapped)) }
}
