import CLinux
import CRunLoop
import Synchronization

// The functions that include/RunLoop/RLBase.h declares and documents.

@implementation @c
public func RLRetain(_ object: UnsafeRawPointer?) -> UnsafeRawPointer? {
    guard anyKind(object, "RLRetain") != nil, let object else { return nil }
    Handle.header(object).pointee.retain()
    return object
}

@_optimize(speed) @implementation @c
public func RLRelease(_ object: UnsafeRawPointer?) {
    guard let object else { return reportNull() }
    // Programs release thousands of timers, so this case is inlined.
    if Handle.isKindWithOneReference(.timer, object), (Handle.storage(object) as TimerPointer).tryRelease() { return }
    release(object)
}

/// Releases an object of any kind. For the kinds whose references the library can tell from the clients', reports a release without a
/// reference. Objects of the other kinds are destroyed with their last reference, and `anyKind` reports a later release.
@inline(never)
private func release(_ object: UnsafeRawPointer?) {
    guard let kind = anyKind(object, "RLRelease"), let object else { return }
    switch kind {
    case .string: (Handle.storage(object) as StringPointer).release()
    case .data: (Handle.storage(object) as DataPointer).release()
    case .array: (Handle.storage(object) as ArrayPointer).release()
    case .set, .dictionary: (Handle.storage(object) as DictionaryPointer).table.release()
    case .number: (Handle.storage(object) as NumberPointer).release()
    case .date: (Handle.storage(object) as DatePointer).release()
    case .boolean, .null, .notificationCenter: break
    case .runLoop:
        if !(Handle.storage(object) as RunLoopPointer).release() { reportOverRelease() }
    case .timer:
        let timer: TimerPointer = Handle.storage(object)
        if releaseItem(timer.item) { timer.destroy() }
    case .source:
        let source: SourcePointer = Handle.storage(object)
        if releaseItem(source.item) { source.destroy() }
    case .observer:
        let observer: ObserverPointer = Handle.storage(object)
        if releaseItem(observer.item) { observer.destroy() }
    case .fileDescriptor: (Handle.storage(object) as FileDescriptorPointer).release()
    case .socket: (Handle.storage(object) as SocketPointer).release()
    case .port: if !(Handle.storage(object) as PortPointer).release() { reportOverRelease() }
    case .portMessage: if !(Handle.storage(object) as PortMessagePointer).release() { reportOverRelease() }
    case .messagePort: if !(Handle.storage(object) as MessagePortPointer).release() { reportOverRelease() }
    case .messagePortRequest: if !(Handle.storage(object) as RequestPointer).release() { reportOverRelease() }
    }
}

private func releaseItem(_ item: ItemPointer) -> Bool {
    switch item.release() {
    case .alive: return false
    case .dead: return true
    case .overReleased:
        reportOverRelease()
        return false
    }
}

@inline(never)
private func reportNull() { _ = anyKind(nil, "RLRelease") }

private func reportOverRelease() { Misuse.report("RLRelease", "object", "released more often than retained") }

/// Returns the kind of an object. Reports a pointer to anything else and returns nil.
@inline(never)
private func anyKind(_ object: UnsafeRawPointer?, _ function: Name, _ parameter: Name = "object") -> Kind? {
    if let kind = Handle.kind(of: object) { return kind }
    Misuse.report(function, parameter, expected: "an object", got: object)
    return nil
}

@implementation @c
public func RLAutorelease(_ object: UnsafeRawPointer?) -> UnsafeRawPointer? {
    guard anyKind(object, "RLAutorelease") != nil, let object else { return nil }
    _ = Registry.current?.autorelease(object, by: { RLRelease($0) })
    return object
}

@implementation @c
public func RLGetRetainCount(_ object: UnsafeRawPointer?) -> Int {
    guard let kind = anyKind(object, "RLGetRetainCount"), let object else { return 0 }
    let references = Handle.header(object).pointee.references.load(ordering: .relaxed)
    if references >= ObjectHeader.immortal { return .max }
    switch kind {
    case .timer, .source, .observer:
        let item = Handle.item(object)
        let owner = item.lock()
        defer { owner.unlock() }
        return Int(references) + Int(item.pointee.internalReferences)
    default: return Int(references)
    }
}

@implementation @c
public func RLGetTypeID(_ object: UnsafeRawPointer?) -> UInt { anyKind(object, "RLGetTypeID")?.typeID ?? 0 }

@implementation @c
public func RLEqual(_ object1: UnsafeRawPointer?, _ object2: UnsafeRawPointer?) -> UInt8 {
    guard let kind1 = anyKind(object1, "RLEqual", "object1"), let kind2 = anyKind(object2, "RLEqual", "object2"),
        let object1, let object2
    else { return 0 }
    if object1 == object2 { return 1 }
    if kind1 != kind2 { return 0 }
    switch kind1 {
    case .string: return (Handle.storage(object1) as StringPointer).equals(Handle.storage(object2)) ? 1 : 0
    case .data: return (Handle.storage(object1) as DataPointer).equals(Handle.storage(object2)) ? 1 : 0
    case .array: return (Handle.storage(object1) as ArrayPointer).equals(Handle.storage(object2)) ? 1 : 0
    case .set, .dictionary:
        return (Handle.storage(object1) as DictionaryPointer).table.equals((Handle.storage(object2) as DictionaryPointer).table) ? 1 : 0
    case .number: return (Handle.storage(object1) as NumberPointer).compare(Handle.storage(object2)) == 0 ? 1 : 0
    case .date: return (Handle.storage(object1) as DatePointer).equals(Handle.storage(object2)) ? 1 : 0
    case .source: return (Handle.storage(object1) as SourcePointer).equals(Handle.storage(object2)) ? 1 : 0
    case .runLoop, .timer, .observer, .fileDescriptor, .socket, .boolean, .null, .notificationCenter, .port, .portMessage, .messagePort,
        .messagePortRequest:
        return 0
    }
}

@implementation @c
public func RLHash(_ object: UnsafeRawPointer?) -> UInt {
    guard let kind = anyKind(object, "RLHash"), let object else { return 0 }
    switch kind {
    case .string: return UInt((Handle.storage(object) as StringPointer).hashValue32)
    case .data:
        let data: DataPointer = Handle.storage(object)
        return UInt(Bytes.hash(data.bytes, data.pointee.count))
    case .array: return UInt((Handle.storage(object) as ArrayPointer).pointee.count)
    case .set, .dictionary: return UInt((Handle.storage(object) as DictionaryPointer).table.pointee.count)
    case .number: return (Handle.storage(object) as NumberPointer).hash
    case .date: return (Handle.storage(object) as DatePointer).hash
    case .source: return (Handle.storage(object) as SourcePointer).contextHash
    case .runLoop, .timer, .observer, .fileDescriptor, .socket, .boolean, .null, .notificationCenter, .port, .portMessage, .messagePort,
        .messagePortRequest:
        return Bytes.mix(UInt(bitPattern: object))
    }
}

@implementation @c
public func RLCopyDescription(_ object: UnsafeRawPointer?) -> OpaquePointer? {
    guard let kind = anyKind(object, "RLCopyDescription"), let object else { return nil }
    if kind == .string { return RLStringCreateCopy(nil, OpaquePointer(object)) }
    return TextBuffer.build { text in
        describe(object, &text)
        return text.withBytes { StringPointer.create($0, count: $1) }?.handle
    }
}

@implementation @c
public func RLShow(_ object: UnsafeRawPointer?) {
    if object != nil && anyKind(object, "RLShow") == nil { return }
    TextBuffer.build { text in
        if let object, Handle.isKind(.string, object), (Handle.storage(object) as StringPointer).count > TextBuffer.capacity {
            let string: StringPointer = Handle.storage(object)
            StandardError.write(string.pointee.bytes, string.count)
        } else if let object {
            describe(object, &text)
        } else {
            text.append("(null)")
        }
        text.withLine { StandardError.write($0, $1) }
    }
}

@implementation @c
public func RLAbsoluteTimeGetCurrent() -> Double { Clock.currentDate }

@implementation @c
public func RLSetErrorHandler(
    _ handler: (@convention(c) (UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void)?, _ info: UnsafeMutableRawPointer?
) { Misuse.setHandler(handler, info) }

@implementation @c
public func RLReportError(
    _ function: UnsafePointer<CChar>?, _ parameter: UnsafePointer<CChar>?, _ problem: UnsafePointer<CChar>?, _ isMisuse: UInt8
) {
    guard let function, let parameter, let problem else {
        return Misuse.report("RLReportError", function == nil ? "function" : parameter == nil ? "parameter" : "problem", "NULL")
    }
    if isMisuse != 0 { return Misuse.report(Name(function), Name(parameter), Name(problem)) }
    Misuse.warn(Name(function), Name(parameter), Name(problem), "")
}

@implementation @c
public func RLGetVersion() -> Int { Int(RL_VERSION_MAJOR * 10000 + RL_VERSION_MINOR * 100 + RL_VERSION_PATCH) }
