import CLinux
import CRunLoop
import Testing

@testable import RunLoopCore

/// Enables, disables, makes ready and serves descriptor objects at random, and compares the callbacks with a list of the expected ones.
@Suite struct ArmingTests {
    private final class Object {
        let pair: [Int32]
        var handle: OpaquePointer!
        var called: UInt = 0
        var calls = 0
        /// The callbacks that are enabled and were not called yet.
        var enabled: UInt = 0
        var bytes = 0
        var isAdded = true

        init() {
            var ends: [Int32] = [-1, -1]
            precondition(socketpair(AF_UNIX, linux_SOCK_STREAM, 0, &ends) == 0)
            pair = ends
            var context = RLFileDescriptorContext()
            context.info = Unmanaged.passUnretained(self).toOpaque()
            handle = RLFileDescriptorCreate(
                nil, ends[0], 1,
                { _, types, info in
                    let object = Unmanaged<Object>.fromOpaque(info!).takeUnretainedValue()
                    object.called |= types
                    object.calls += 1
                }, &context)
        }

        /// The callbacks expected in a run. There is always room to write.
        var due: UInt { isAdded ? enabled & (bytes > 0 ? 3 : 2) : 0 }

        var endpoint: EndpointPointer {
            UnsafeMutableRawPointer(handle).assumingMemoryBound(to: Endpoint.self)
        }

        func source() -> OpaquePointer { RLFileDescriptorCreateRunLoopSource(nil, handle, 0)! }

        func end() {
            RLFileDescriptorInvalidate(handle)
            RLRelease(UnsafeRawPointer(handle))
            close(pair[1])
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithModel(seed: UInt64) {
        let problem = onThread { self.run(seed: seed, steps: scaled(2_000)) }
        #expect(problem == nil)
    }

    private func run(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        let loop = RLRunLoopGetCurrent()
        let objects = (0..<5).map { _ in Object() }
        let sources = objects.map { $0.source() }
        for source in sources { RLRunLoopAddSource(loop, source, kRLRunLoopDefaultMode) }
        defer {
            for object in objects { object.end() }
            for source in sources { RLRelease(UnsafeRawPointer(source)) }
        }
        for step in 0..<steps {
            let which = random.below(objects.count)
            let object = objects[which]
            let types = UInt(random.below(4))
            var byte: UInt8 = 1
            switch random.below(7) {
            case 0, 1:
                RLFileDescriptorEnableCallBacks(object.handle, types)
                object.enabled |= types
            case 2:
                RLFileDescriptorDisableCallBacks(object.handle, types)
                object.enabled &= ~types
            case 3:
                precondition(write(object.pair[1], &byte, 1) == 1)
                object.bytes += 1
            case 4 where object.bytes > 0:
                precondition(read(object.pair[0], &byte, 1) == 1)
                object.bytes -= 1
            case 5:
                if object.isAdded {
                    RLRunLoopRemoveSource(loop, sources[which], kRLRunLoopDefaultMode)
                } else {
                    RLRunLoopAddSource(loop, sources[which], kRLRunLoopDefaultMode)
                }
                object.isAdded.toggle()
            default:
                if let problem = serve(objects) { return "step \(step): \(problem)" }
            }
            for object in objects {
                let state = object.endpoint.state
                // A callback that is armed, but not registered with the source, would never be called.
                if !state.armed.isSubset(of: state.registered) { return "step \(step): the source was not told" }
                if state.activeCalls != 0 { return "step \(step): somebody uses it" }
            }
        }
        return nil
    }

    /// Runs until no callback is called. Expects each object that was due to be called once, with all its bits.
    private func serve(_ objects: [Object]) -> String? {
        for object in objects { (object.called, object.calls) = (0, 0) }
        while RLRunLoopRunInMode(kRLRunLoopDefaultMode, 0, 1) == 4 {}
        for (which, object) in objects.enumerated() {
            let due = object.due
            if object.called != due { return "object \(which) was called with \(object.called) instead of \(due)" }
            if object.calls > 1 { return "object \(which) was called \(object.calls) times" }
            object.enabled &= ~due
        }
        return nil
    }
}
