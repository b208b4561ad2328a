import CRunLoop

/// The mode names of the public header, as string objects. No step of the iteration: used wherever a mode is named.
enum ModeName {
    static var common: StringPointer { Handle.storage(UnsafeRawPointer(kRLRunLoopCommonModes.unsafelyUnwrapped)) }
    static var `default`: StringPointer { Handle.storage(UnsafeRawPointer(kRLRunLoopDefaultMode.unsafelyUnwrapped)) }
}
