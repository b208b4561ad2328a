import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

extension Name: CustomStringConvertible {
    public var description: String { String(cString: text) }
}

/// There is only one null object, a C constant, so the core has no type for it.
private struct NullStorage: ObjectStorage, ~Copyable {
    static var kind: Kind { .null }
}

/// Which handles are accepted as which type, and what is reported about the others. The error handler is per process: no other suite makes
/// mistakes.
@Suite(.serialized) struct HandleTests {
    /// Returns the reports that the error handler receives while `body` runs.
    private func diagnostics(_ body: () -> Void) -> [String] {
        let lines = Guarded<[String]>([])
        let info = Unmanaged.passRetained(lines)
        Misuse.setHandler(
            { line, info in
                guard let line, let info else { return }
                Unmanaged<Guarded<[String]>>.fromOpaque(info).takeUnretainedValue().with { $0.append(String(cString: line)) }
            }, info.toOpaque())
        body()
        Misuse.setHandler(nil, nil)
        info.release()
        return lines.with { $0 }
    }

    /// Calls `body` with one object of each kind, on a thread with a loop.
    private func withObjects(_ body: ([Kind: OpaquePointer]) -> Void) {
        var source = RLRunLoopSourceContext()
        let port = RLPortCreate(nil, { _, _, _ in }, nil, nil)
        let messagePort = RLMessagePortCreateLocal(nil, nil, { _, _, _, _ in nil }, nil, nil)
        let connection = ConnectionPointer.make(.inProcess, -1, Handle.storage(UnsafeRawPointer(messagePort!)))!
        defer { connection.release() }
        let frame = Frame(kind: .request, payloadLocation: .inline, id: 0, messageID: 0, length: 0, deadline: .never)
        let objects: [Kind: OpaquePointer?] = [
            .string: RLStringCreateWithCString(nil, "text", UInt32(kRLStringEncodingUTF8)),
            .data: RLDataCreate(nil, [1, 2, 3], 3),
            .array: RLArrayCreate(nil, nil, 0, nil),
            .set: RLSetCreate(nil, nil, 0, nil),
            .dictionary: RLDictionaryCreate(nil, nil, nil, 0, nil, nil),
            .number: RLNumberCreate(nil, Int(kRLNumberSInt8Type), [1 as Int8]),
            .boolean: kRLBooleanTrue,
            .null: kRLNull,
            .date: RLDateCreate(nil, 0),
            .notificationCenter: RLNotificationCenterGetLocalCenter(),
            .runLoop: RLRunLoopGetCurrent(),
            .source: RLRunLoopSourceCreate(nil, 0, &source),
            .timer: RLRunLoopTimerCreate(nil, 0, 0, 0, 0, { _, _ in }, nil),
            .observer: RLRunLoopObserverCreate(nil, 1, 1, 0, { _, _, _ in }, nil),
            .fileDescriptor: RLFileDescriptorCreate(nil, 0, 0, nil, nil),
            .socket: RLSocketCreateWithNative(nil, -1, 0, nil, nil),
            .port: port,
            .portMessage: RLPortMessageCreate(nil, port, nil, nil),
            .messagePort: messagePort,
            .messagePortRequest: RequestPointer.make(frame, DataPointer.create(nil, count: 0)!, from: connection)?.handle,
        ]
        body(objects.compactMapValues { $0 })
        for (kind, object) in objects where kind != .runLoop { RLRelease(UnsafeRawPointer(object!)) }
    }

    private func isBorrowed(_ handle: OpaquePointer?, as kind: Kind) -> Bool {
        switch kind {
        case .string: (Handle.borrow(handle, "F", "p") as StringPointer?) != nil
        case .data: (Handle.borrow(handle, "F", "p") as DataPointer?) != nil
        case .set: (Handle.borrow(handle, "F", "p") as SetPointer?) != nil
        case .dictionary: (Handle.borrow(handle, "F", "p") as DictionaryPointer?) != nil
        case .number: (Handle.borrow(handle, "F", "p") as NumberPointer?) != nil
        case .boolean: (Handle.borrow(handle, "F", "p") as TruthPointer?) != nil
        case .null: (Handle.borrow(handle, "F", "p") as UnsafeMutablePointer<NullStorage>?) != nil
        case .date: (Handle.borrow(handle, "F", "p") as DatePointer?) != nil
        case .notificationCenter: (Handle.borrow(handle, "F", "p") as UnsafeMutablePointer<NotificationCenterStorage>?) != nil
        case .array: (Handle.borrow(handle, "F", "p") as ArrayPointer?) != nil
        case .runLoop: (Handle.borrow(handle, "F", "p") as RunLoopPointer?) != nil
        case .source: (Handle.borrow(handle, "F", "p") as SourcePointer?) != nil
        case .timer: (Handle.borrow(handle, "F", "p") as TimerPointer?) != nil
        case .observer: (Handle.borrow(handle, "F", "p") as ObserverPointer?) != nil
        case .fileDescriptor: (Handle.borrow(handle, "F", "p") as FileDescriptorPointer?) != nil
        case .socket: (Handle.borrow(handle, "F", "p") as SocketPointer?) != nil
        case .port: (Handle.borrow(handle, "F", "p") as PortPointer?) != nil
        case .portMessage: (Handle.borrow(handle, "F", "p") as PortMessagePointer?) != nil
        case .messagePort: (Handle.borrow(handle, "F", "p") as MessagePortPointer?) != nil
        case .messagePortRequest: (Handle.borrow(handle, "F", "p") as RequestPointer?) != nil
        }
    }

    @Test func eachKindIsBorrowedAsItself() {
        withObjects { objects in
            #expect(objects.count == Kind.all.count)
            for (kind, object) in objects {
                #expect(Handle.kind(of: UnsafeRawPointer(object)) == kind)
                let lines = diagnostics { #expect(isBorrowed(object, as: kind)) }
                #expect(lines == [])
            }
        }
    }

    @Test func noKindIsBorrowedAsAnother() {
        withObjects { objects in
            for (kind, object) in objects {
                for wanted in Kind.all where wanted != kind {
                    let lines = diagnostics { #expect(!isBorrowed(object, as: wanted)) }
                    #expect(lines == ["runloop: F: p: expected \(wanted.name), got \(kind.name)"])
                }
            }
        }
    }

    @Test func nullIsNoObject() {
        let lines = diagnostics { #expect(!isBorrowed(nil, as: .timer)) }
        #expect(lines == ["runloop: F: p: expected RLRunLoopTimer, got NULL"])
        #expect(Handle.kind(of: nil) == nil)
    }

    @Test func memoryThatIsNoObjectIsRejected() {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: 64)
        memory.storeBytes(of: Kind.timer.rawValue, toByteOffset: 4, as: UInt32.self)
        // Zero, a valid tag at a misaligned address, and an address that cannot be read.
        for handle in [OpaquePointer(memory), OpaquePointer(memory + 4), OpaquePointer(bitPattern: 1)] {
            let lines = diagnostics { #expect(!isBorrowed(handle, as: .timer)) }
            #expect(lines == ["runloop: F: p: expected RLRunLoopTimer, got an invalid or freed pointer"])
        }
    }

    @Test func releasedItemsAreNoObjects() {
        let timer = RLRunLoopTimerCreate(nil, 0, 0, 0, 0, { _, _ in }, nil)
        RLRelease(UnsafeRawPointer(timer))
        #expect(Handle.kind(of: UnsafeRawPointer(timer)) == nil)
    }

    @Test func overReleaseIsReported() {
        let seen = diagnostics {
            let observer = RLRunLoopObserverCreate(nil, 1, 1, 0, { _, _, _ in }, nil)
            let loop = RLRunLoopGetCurrent()
            RLRunLoopAddObserver(loop, observer, kRLRunLoopDefaultMode)
            RLRelease(UnsafeRawPointer(observer))
            RLRelease(UnsafeRawPointer(observer))
            RLRunLoopRemoveObserver(loop, observer, kRLRunLoopDefaultMode)
        }
        #expect(seen == ["runloop: RLRelease: object: released more often than retained"])
    }

    @Test func reportsSetErrno() {
        var after: Int32 = 0
        let lines = diagnostics {
            systemError = 77
            Misuse.report("RLFunction", "parameter", "no good")
            after = systemError
        }
        #expect(lines == ["runloop: RLFunction: parameter: no good"])
        #expect(after == EINVAL)
    }

    /// The layout that `given` and `tell` in Exports/Arguments.swift rely on.
    @Test func contextsHaveTheSameLayout() {
        func offsets<Context>(_ fields: PartialKeyPath<Context>...) -> [Int?] { fields.map { MemoryLayout<Context>.offset(of: $0) } }
        typealias Client = ClientContext
        #expect(offsets(\Client.info, \Client.retain, \Client.release, \Client.copyDescription) == [0, 8, 16, 24])
        let ours = [8, 16, 24, 32]
        typealias Timer = RLRunLoopTimerContext
        typealias Observer = RLRunLoopObserverContext
        #expect(offsets(\Timer.version, \Timer.info, \Timer.retain, \Timer.release, \Timer.copyDescription) == [0] + ours)
        #expect(offsets(\Observer.version, \Observer.info, \Observer.retain, \Observer.release, \Observer.copyDescription) == [0] + ours)
        typealias Port = RLPortContext
        typealias Message = RLMessagePortContext
        #expect(offsets(\Port.version, \Port.info, \Port.retain, \Port.release, \Port.copyDescription) == [0] + ours)
        #expect(offsets(\Message.version, \Message.info, \Message.retain, \Message.release, \Message.copyDescription) == [0] + ours)
        typealias File = RLFileDescriptorContext
        typealias Socket = RLSocketContext
        #expect(offsets(\File.version, \File.info, \File.retain, \File.release, \File.copyDescription) == [0] + ours)
        #expect(offsets(\Socket.version, \Socket.info, \Socket.retain, \Socket.release, \Socket.copyDescription) == [0] + ours)
    }
}

extension Kind {
    /// All kinds. `Kind` is not `CaseIterable`, because its array would be in the library, too.
    static let all = (UInt32(1)...255).compactMap { Kind(rawValue: 0x524C_0000 | $0) }
}
