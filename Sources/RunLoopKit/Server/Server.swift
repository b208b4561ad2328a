import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// What makes a listener a server: how it makes a stream of each connection. This is the info of the listener.
struct Server {
    fileprivate let accepted: RLServerCallBack?
    fileprivate let callout: RLStreamCallBack?
    /// The context of the streams. Each of them retains its info; the server does not.
    fileprivate let client: ClientContext
    /// The listener's reference, and that of `make` until it returns. Only the thread that creates or frees the listener uses it.
    fileprivate var references = 1

    /// Creates a server: calls `makeListener` with the callback and the context of its listener, and with the client's callback, for
    /// traces, and returns the result. Returns nil with errno if out of memory, without calling it. Any thread.
    static func make(
        _ accepted: RLServerCallBack?, _ callout: RLStreamCallBack?, _ client: ClientContext,
        _ makeListener: (RLListenerCallBack, ClientContext, UInt) -> OpaquePointer?
    ) -> OpaquePointer? {
        guard let memory = malloc(MemoryLayout<Server>.stride) else { return nil }
        let server = memory.bindMemory(to: Server.self, capacity: 1)
        server.initialize(to: Server(accepted: accepted, callout: callout, client: client))
        var own = ClientContext(info: memory)
        own.retain = { info in
            Server.pointer(info).pointee.references += 1
            return info
        }
        own.release = { info in Server.pointer(info).release() }
        own.copyDescription = { info in
            let client = Server.pointer(info).pointee.client
            return client.copyDescription.flatMap { $0(client.info) }
        }
        let named = accepted.map { addressOfFunction($0) } ?? addressOfFunction(callout)
        let listener = makeListener({ listener, connection, info in Server.pointer(info).serve(connection, of: listener) }, own, named)
        preservingSystemError { server.release() }
        return listener
    }

    fileprivate static func pointer(_ info: UnsafeRawPointer?) -> UnsafeMutablePointer<Server> {
        UnsafeMutableRawPointer(mutating: info.unsafelyUnwrapped).assumingMemoryBound(to: Server.self)
    }
}

extension UnsafeMutablePointer<Server> {
    /// Makes a stream of a connection, which the loop keeps, and has the client set it up. Closes the connection if there is no memory. On
    /// the loop's thread; calls the client, whose function may end the thread.
    fileprivate func serve(_ connection: Int32, of listener: OpaquePointer?) {
        guard let handle = Stream.make(connection, isSocket: true, closes: true, pointee.callout, pointee.client) else {
            linux_close(connection)
            return
        }
        let stream = StreamPointer(handle: handle)
        // Without memory for its watch, the stream has failed.
        let isServed = Self.schedule(handle, as: listener) && stream.canBeWritten
        if !isServed { stream.close() }
        let info = stream.pointee.object.client.info
        // Otherwise the reference would be lost if the client ended the thread.
        RLRelease(UnsafeRawPointer(handle))
        guard isServed, let accepted = pointee.accepted else { return }
        RUNLOOP_IS_CALLING_OUT_TO_A_SERVER_CALLBACK_FUNCTION(accepted, listener, handle, info)
    }

    /// Adds a stream to the mode in which this thread's loop runs, and to all others that the listener is in. Returns false if out of
    /// memory; the stream may then be in some of them.
    private static func schedule(_ stream: OpaquePointer, as listener: OpaquePointer?) -> Bool {
        let loop = RLRunLoopGetCurrent()
        guard let loop, let mode = RLRunLoopCopyCurrentMode(loop) else { return false }
        var isInAll = add(stream, loop, mode)
        RLRelease(UnsafeRawPointer(mode))
        if RLRunLoopContainsSource(loop, listener, kRLRunLoopCommonModes) != 0 && !add(stream, loop, kRLRunLoopCommonModes) {
            isInAll = false
        }
        let foundModes = ServingLoops.forEachMode(loop, of: listener) { if !add(stream, loop, $0) { isInAll = false } }
        return isInAll && foundModes
    }

    private static func add(_ stream: OpaquePointer, _ loop: OpaquePointer, _ mode: OpaquePointer?) -> Bool {
        RLRunLoopAddSource(loop, stream, mode)
        return RLRunLoopContainsSource(loop, stream, mode) != 0
    }

    /// Drops a reference; the last frees the memory.
    fileprivate func release() {
        pointee.references -= 1
        if pointee.references == 0 { CLinux.free(self) }
    }
}
