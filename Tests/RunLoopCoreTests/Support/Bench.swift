import CRunLoop

@testable import RunLoopCore

/// Items on the calling thread's loop whose callbacks are closures. Everything is done through the functions that C programs call.
final class Bench {
    let loop = RLRunLoopGetCurrent()
    /// What happened, in order.
    var log: [String] = []
    private var roles: [AnyObject] = []
    private var objects: [OpaquePointer] = []

    private final class Role {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }

        static func call(_ info: UnsafeMutableRawPointer?) { Unmanaged<Role>.fromOpaque(info!).takeUnretainedValue().body() }
    }

    deinit { forgetAll() }

    /// Breaks the cycle: callbacks of items may keep the bench alive, and the bench keeps them. No callback may run afterwards.
    func forgetAll() {
        for object in objects { RLRelease(UnsafeRawPointer(object)) }
        objects = []
        roles = []
    }

    private func role(_ name: String, _ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
        let role = Role { [unowned self] in
            log.append(name)
            body()
        }
        roles.append(role)
        return Unmanaged.passUnretained(role).toOpaque()
    }

    func mode(_ name: String) -> OpaquePointer { RLStringMakeConstant(name)! }

    func source(_ name: String, order: Int = 0, _ body: @escaping () -> Void = {}) -> OpaquePointer {
        var context = RLRunLoopSourceContext()
        context.info = role(name, body)
        context.perform = { Role.call($0) }
        objects.append(RLRunLoopSourceCreate(nil, order, &context)!)
        return objects.last!
    }

    /// Creates a source whose descriptor is `fd`.
    func port(_ name: String, _ fd: Int32, _ body: @escaping () -> Void = {}) -> OpaquePointer {
        final class Port {
            let fd: Int32
            let role: UnsafeMutableRawPointer
            init(_ fd: Int32, _ role: UnsafeMutableRawPointer) { (self.fd, self.role) = (fd, role) }
        }
        let port = Port(fd, role(name, body))
        roles.append(port)
        var context = RLRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(port).toOpaque()
        context.getPort = { Unmanaged<Port>.fromOpaque($0!).takeUnretainedValue().fd }
        context.perform = { Role.call(Unmanaged<Port>.fromOpaque($0!).takeUnretainedValue().role) }
        let source = withUnsafeMutableBytes(of: &context) {
            RLRunLoopSourceCreate(nil, 0, $0.baseAddress!.assumingMemoryBound(to: RLRunLoopSourceContext.self))
        }
        objects.append(source!)
        return source!
    }

    /// Creates a timer that is already due, by `ago` seconds.
    func timer(_ name: String, secondsAgo ago: Double, _ body: @escaping () -> Void = {}) -> OpaquePointer {
        var context = RLRunLoopTimerContext()
        context.info = role(name, body)
        objects.append(RLRunLoopTimerCreate(nil, RLAbsoluteTimeGetCurrent() - ago, 0, 0, 0, { Role.call($1) }, &context)!)
        return objects.last!
    }

    func observer(_ name: String, _ activities: UInt, order: Int = 0, _ body: @escaping () -> Void = {}) -> OpaquePointer {
        var context = RLRunLoopObserverContext()
        context.info = role(name, body)
        objects.append(RLRunLoopObserverCreate(nil, activities, 1, order, { Role.call($2) }, &context)!)
        return objects.last!
    }

    func perform(_ name: String, in mode: OpaquePointer, _ body: @escaping () -> Void = {}) -> UnsafeMutableRawPointer {
        let info = role(name, body)
        _ = RLRunLoopPerformFunction(loop, UnsafeRawPointer(mode), { Role.call($0) }, info)
        return info
    }

    /// Runs one pass, which does not sleep.
    @discardableResult
    func pass(_ mode: OpaquePointer = kRLRunLoopDefaultMode) -> Int32 { RLRunLoopRunInMode(mode, 0, 0) }

    /// Returns the log of a bench on a new thread.
    static func log(_ body: @escaping (Bench) -> Void) -> [String] {
        onThread {
            let bench = Bench()
            body(bench)
            bench.forgetAll()
            return bench.log
        }
    }
}
