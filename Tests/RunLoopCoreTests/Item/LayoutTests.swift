import CRunLoop
import Testing

@testable import RunLoopCore

/// The memory layout that pointer arithmetic in the core relies on, and the sizes that determine cache lines.
@Suite struct LayoutTests {
    @Test func timerFitsOneCacheLine() {
        #expect(MemoryLayout<TimerStorage>.size == 64)
        #expect(MemoryLayout<TimerStorage>.stride == 64)
    }

    /// At most 96 bytes per observer, 128 per source, and 24 per watched descriptor.
    @Test func otherItemsStaySmall() {
        #expect(MemoryLayout<SourceStorage>.stride <= 128)
        #expect(MemoryLayout<Registration>.stride <= 48)
        #expect(MemoryLayout<SeparateRegistration>.stride <= 64)
        #expect(MemoryLayout<ObserverStorage>.stride <= 96)
        #expect(MemoryLayout<TimerDetail>.stride <= 88)
        #expect(MemoryLayout<Poller.Watch>.stride == 24)
    }

    /// The objects of slabs whose size is a literal fit.
    @Test func messagesFitTheirSlabs() {
        #expect(MemoryLayout<PendingRequest>.size <= 128)
        #expect(MemoryLayout<RequestStorage>.size <= 128)
        #expect(MemoryLayout<PortMessageStorage>.size <= 64)
    }

    /// Slabs return addresses whose low three bits are 0; `Handle` refuses other addresses.
    @Test func slabObjectsAreAligned() {
        for stride in [
            MemoryLayout<TimerStorage>.stride, MemoryLayout<TimerDetail>.stride, MemoryLayout<SourceStorage>.stride,
            MemoryLayout<Registration>.stride, MemoryLayout<ObserverStorage>.stride,
        ] { #expect(stride % 8 == 0) }
    }

    /// All fields of a source that are read to deliver a ready descriptor are in one cache line, the first line of the source.
    @Test func deliveringReadsOneLineOfASource() {
        let lines = onThread { () -> [Int] in
            let threadContext = Registry.current!.threadContext
            let source = SourcePointer.create(
                threadContext, order: 0, info: UnsafeMutableRawPointer(bitPattern: 77), perform: nil, getPort: { _ in 0 }, SourceDetail())!
            defer { source.destroy() }
            let set = withUnsafePointer(to: source.pointee.inlineRegistration.modeSetAddress) { UnsafeRawPointer($0) }
            let words = UnsafeRawPointer(source).assumingMemoryBound(to: UInt.self)
            let info = (0..<8).first { words[$0] == 77 } ?? 8
            let lastDispatch = UnsafeRawPointer(source.inlineRegistration.lastDispatchField)
            return [Int(bitPattern: source) % 64, set - UnsafeRawPointer(source), lastDispatch - UnsafeRawPointer(source), info]
        }
        #expect(lines[0] == 0)
        #expect(lines[1] + 8 <= 64)
        #expect(lines[2] + 4 <= 64)
        #expect(lines[3] < 8)
    }

    /// Calling back a descriptor object or socket reads one cache line, too.
    @Test func callingReadsOneLineOfAnEndpoint() {
        #expect(MemoryLayout<FileDescriptorStorage>.size <= 128)
        #expect(MemoryLayout<SocketStorage>.size <= 128)
        let callout: EndpointCallout.OfDescriptor = { _, _, _ in }
        let context = ClientContext(info: UnsafeMutableRawPointer(bitPattern: 77))
        let (line, address) = onThread { () -> ([UInt], Int) in
            let threadContext = Registry.current!.threadContext
            let descriptor = FileDescriptorPointer.create(0, closesOnInvalidate: false, callout, context, threadContext)!
            defer { descriptor.release() }
            let words = UnsafeRawPointer(descriptor).assumingMemoryBound(to: UInt.self)
            return ((0..<8).map { words[$0] }, Int(bitPattern: descriptor))
        }
        #expect(address % 64 == 0)
        #expect(line.contains(77))
        #expect(line.contains(unsafeBitCast(callout, to: UInt.self)))
        #expect(line.contains { UInt32(truncatingIfNeeded: $0) == EndpointState.valid })
    }

    /// The state of an item consists of three fields of its header.
    @Test func stateContainsFlagsReferencesAndPosition() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            let timer = TimerPointer.create(threadContext, date: 0, interval: 0, order: 0, { _, _ in }, .empty)!
            defer { timer.destroy() }
            var seen = [timer.item.state == .simple]
            timer.item.state = .queued(at: 77)
            seen += [timer.pointee.item.flags == [.valid, .bound], timer.pointee.item.internalReferences == 1, timer.item.state.isQueued]
            seen += [timer.pointee.item.position == 77, timer.item.state == .queued(at: 77), timer.position.pointee == 77]
            seen += [
                timer.item.state.distance(from: .queued(at: 70)) == 7,
                timer.item.state.distance(from: .queued(at: 78)) == UInt64(UInt32.max),
            ]
            timer.pointee.item.set(.firing)
            seen += [!timer.item.state.isQueued, timer.item.state.distance(from: .queued(at: 70)) > UInt64(UInt32.max)]
            timer.item.state = .ended
            seen += [timer.pointee.item.flags == .ended, timer.pointee.item.internalReferences == 0, !timer.isQueued]
            return seen
        }
        #expect(seen == Array(repeating: true, count: 14))
    }

    /// The header field that holds a timer's position in the queue holds a source's signal flag.
    @Test func signalFlagIsInTheHeader() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            let source = SourcePointer.create(threadContext, order: 0, info: nil, perform: nil, getPort: nil, SourceDetail())!
            defer { source.destroy() }
            var seen = [!source.isSignalled, source.pointee.item.position == 0]
            source.signal()
            seen += [source.isSignalled, source.pointee.item.position == 1, source.takeSignal(), !source.isSignalled]
            return seen
        }
        #expect(seen == [true, true, true, true, true, true])
    }

    @Test func timerPositionIsAFieldOfTheHeader() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            let timer = TimerPointer.create(threadContext, date: 0, interval: 1, order: 0, { _, _ in }, .empty)!
            timer.position.pointee = 0xABCD_1234
            var seen = [timer.pointee.item.position == 0xABCD_1234]
            timer.pointee.item.position = 0x1111_2222
            seen.append(timer.position.pointee == 0x1111_2222)
            seen.append(TimerPointer(queued: timer.position) == timer)
            seen.append(UnsafeMutableRawPointer(timer.item) == UnsafeMutableRawPointer(timer))
            let detail = timer.detail!
            detail.position.pointee = 0x3333_4444
            seen.append(detail.pointee.heapIndex == 0x3333_4444)
            timer.destroy()
            return seen
        }
        #expect(seen == [true, true, true, true, true])
    }

    @Test func registrationPositionIsItsFirstField() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            let table = Pinned(RegistrationTable())
            let pendingSignals = Pinned(PendingSignals())
            let set = Pinned(ModeSet(of: threadContext, modes: BitSet()))
            let source = SourcePointer.create(threadContext, order: 0, info: nil, perform: nil, getPort: nil, SourceDetail())!
            let registration = table.pointer.pointee.add(source, 0, set.pointer, pendingSignals.pointer)!
            var seen = [!registration.isQueued]
            registration.position.pointee = 77
            seen += [
                UnsafeRawPointer(registration).load(as: UInt32.self) == 77, registration.isQueued,
                RegistrationPointer(queued: registration.position) == registration,
            ]
            table.pointer.pointee.remove(registration)
            registration.destroy()
            source.destroy()
            return seen
        }
        #expect(seen == [true, true, true, true])
    }

    /// The registration in a second loop knows its source, and the first registration is found by its address.
    @Test func registrationsReferToTheirSource() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            var seen: [Bool] = []
            for getPort in [nil, { _ in 0 }] as [SourceStorage.GetPort?] {
                let source = SourcePointer.create(threadContext, order: 0, info: nil, perform: nil, getPort: getPort, SourceDetail())!
                let other = RegistrationPointer.make(for: source, threadContext)!
                seen += [source.inlineRegistration.isInline, source.inlineRegistration.source == source]
                seen += [!other.isInline, other.source == source]
                other.destroy()
                source.destroy()
            }
            return seen
        }
        #expect(seen == Array(repeating: true, count: 8))
    }

    @Test func aLoopAndItsThreadContextHaveOneAddress() {
        let seen = onThread { () -> [Bool] in
            let loop = Registry.current!
            loop.pointee.threadContext.header.tag = 0
            let isZero = loop.threadContext.pointee.header.tag == 0 && UnsafeRawPointer(loop).load(as: UInt32.self) == 0
            loop.pointee.threadContext.header.tag = Kind.runLoop.rawValue
            return [isZero, RunLoopPointer(loop.threadContext) == loop, Handle.kind(of: UnsafeRawPointer(loop)) == .runLoop]
        }
        #expect(seen == [true, true, true])
    }
}
