import CLinux
import CRunLoop
import Synchronization

/// What a local port and its run loop source know of each other: the info of the source. Freed with the source.
struct MessagePortLink: ~Copyable {
    /// A loop and a mode in which the source is.
    struct Place: BitwiseCopyable {
        var loop: RunLoopPointer
        /// Retained.
        var mode: StringPointer
    }

    /// Retained, as by a client.
    let port: MessagePortPointer
    /// 1: there was no memory to watch all wires at all places. The source is signalled, to try again in the next pass. Any thread.
    let isBehind = Atomic<UInt32>(0)
    // Under the senders' lock of the port's queue.
    var source: SourcePointer?
    var places = PlainList<Place>()
}

typealias MessagePortLinkPointer = UnsafeMutablePointer<MessagePortLink>

// A local port: requests come in, from this process through the queue, from others on wires.

extension UnsafeMutablePointer where Pointee == MessagePortStorage {
    /// RLMessagePortCreateLocal with a name that no other port of this process has. `context.info` is retained already.
    /// nil with errno. Under the registry's names.
    static func createLocal(_ name: StringPointer?, _ callout: @escaping MessagePortStorage.Callout, _ context: ClientContext)
        -> MessagePortPointer?
    {
        guard let port = make(isRemote: false, nil, of: PacketSocket.own.user, callout, context) else { return nil }
        if let name, !port.claimName(name) {
            port.pointee.context = .empty
            port.pointee.isValid = false
            port.unhold()
            return nil
        }
        MessagePortRegistry.insert(port)
        return port
    }

    /// Gives the port a name, instead of the one it may have. False with errno. Under the registry's names.
    func claimName(_ name: StringPointer) -> Bool {
        guard let claim = NameServer.claim(name, isForAll: pointee.allowsOthers) else { return false }
        guard let wire = WirePointer.make(.listener, claim.listener, self) else {
            NameServer.giveUp(name, NameServer.Claim(listener: -1, lock: claim.lock))
            systemError = ENOMEM
            return false
        }
        let old = pointee.claim
        let oldName = pointee.name
        oldName?.retain()
        MessagePortRegistry.setName(self, name, claim)
        if let oldName {
            NameServer.giveUp(oldName, old)
            locked { pointee.listener(of: old) }?.close()
            oldName.release()
        }
        serve(wire)
        wire.release()
        return true
    }

    /// Other users may connect from now on, or must not: then `closeUnwelcome` follows. False with errno. Under the registry's names.
    func setAllowsOthers(_ allows: Bool) -> Bool {
        let (name, claim) = locked { () -> (StringPointer?, NameServer.Claim) in
            pointee.allowsOthers = allows
            return (pointee.name, pointee.claim)
        }
        // Who is not allowed is not talked to, whatever the file's rights are.
        if let name, claim.lock >= 0, !NameServer.open(name, claim, toAll: allows), allows {
            locked { pointee.allowsOthers = false }
            return false
        }
        return true
    }

    /// Disconnects other users if they may not connect any more. Without a lock: calls clients' functions.
    func closeUnwelcome() {
        while let wire = locked({ pointee.allowsOthers ? nil : pointee.unwelcomeWire }) { wire.close() }
    }

    /// Whether data is the port's name.
    func isNamed(_ data: DataPointer?) -> Bool {
        guard let data else { return false }
        return locked {
            guard let name = pointee.name else { return false }
            return name.count == data.pointee.count && memcmp(name.pointee.bytes, data.bytes, name.count) == 0
        }
    }

    // MARK: wires

    /// Whoever waits on a wire must not be forgotten.
    @inline(never)
    func fallBehind() {
        queue.lockSenders()
        if let link = pointee.link {
            link.pointee.isBehind.store(1, ordering: .relaxed)
            signalAndWakeLocked(link)
        }
        queue.unlockSenders()
    }

    /// What there was no memory for, perhaps in another mode than the one that is run.
    @inline(never)
    private func catchUp(_ link: MessagePortLinkPointer, on loop: RunLoopPointer) {
        link.pointee.isBehind.store(0, ordering: .relaxed)
        var number = loop.locked { loop.pointee.modes.count }
        while number > 1 {
            number -= 1
            if let source = link.pointee.source, let name = loop.locked({ loop.pointee.modes[number]?.pointee.name }),
                loop.contains(source, in: name)
            {
                update(link, at: MessagePortLink.Place(loop: loop, mode: name))
            }
        }
    }

    /// For a walk over all wires, some perhaps twice: the one behind `wire`, which is nil at first. The walk has a reference to it until
    /// that is nil again. Allocates nothing. Any thread.
    @inline(never)
    func nextWire(_ wire: inout WirePointer?) -> WirePointer? {
        let last = wire
        wire = locked {
            let isThere = last != nil && (last == pointee.wires || last?.pointee.previous != nil)
            let next = isThere ? last?.pointee.following : pointee.wires
            next?.retain()
            return next
        }
        last?.release()
        return wire
    }

    // MARK: requests

    /// Puts a request of this process into the queue. The outcome is as for a port.
    func put(_ request: RequestPointer) -> PortQueue.Outcome {
        queue.lockSenders()
        let outcome = queue.putLocked(QueuedMessage(UnsafeMutableRawPointer(request)))
        if outcome == .queuedUnsignalled, let link = pointee.link { signalAndWakeLocked(link) }
        queue.unlockSenders()
        return outcome
    }

    /// Under the senders' lock.
    @inline(never)
    private func signalAndWakeLocked(_ link: MessagePortLinkPointer) {
        link.pointee.source?.signalSeldom()
        for index in 0..<link.pointee.places.count { link.pointee.places[index].loop.wakeUp() }
    }

    /// The perform function of the port's source: handles what is in the queue, as `PortPointer.deliver`.
    func deliver(_ link: MessagePortLinkPointer, on loop: RunLoopPointer) {
        if link.pointee.isBehind.load(ordering: .relaxed) != 0 { catchUp(link, on: loop) }
        var count = 0
        while let request = take(link, after: count) {
            count += 1
            handle(request)
            guard let source = link.pointee.source, loop.mayGoOn(source) else { break }
        }
        if count == 0 { loop.pointee.performedNothing = true }
    }

    private func take(_ link: MessagePortLinkPointer, after count: Int) -> RequestPointer? {
        queue.lockReceivers()
        let request = queue.takeLocked(inStream: count > 1) { _ = pointee.link?.pointee.source?.takeSignal() }
        if request != nil, let source = link.pointee.source, !source.isSignalled { source.signal() }
        queue.unlockReceivers()
        queue.wakeSenders()
        return request.map { RequestPointer($0) }
    }

    /// Calls the port's function with a request, answers it with what that returns, and gives the request back.
    func handle(_ request: RequestPointer) {
        guard let callout = pointee.callout, let context = begin(request) else {
            // The port has just ended: that is what its sender hears, not that there is no answer.
            request.pointee.wire?.close()
            request.pointee.remote?.invalidate()
            _ = request.release()
            return
        }
        let info = context.retain == nil ? context.info : context.retained()
        let loop = RunLoopPointer(request.pointee.home.unsafelyUnwrapped)
        let level = loop.beginCleanup(
            Cleanup(function: { abandonRequest($0, $1, $2) }, object: self, part: request, info: info))
        let result = RUNLOOP_IS_CALLING_OUT_TO_A_MESSAGE_PORT_CALLBACK_FUNCTION(
            callout, handle, request.pointee.message, request.pointee.data.handle, info)
        loop.endCleanup(level)
        if context.retain != nil { context.released(info) }
        var reply: DataPointer?
        if result != nil { reply = Handle.borrow(result, "RLMessagePortCallBack", "the result") }
        // No other thread can answer a request that the client has not taken: neither here nor below does it take an atomic step.
        if !request.pointee.isTaken { request.respond(reply) }
        reply?.release()
        finishInline(request)
        if request.pointee.isTaken { _ = request.release() } else { request.dispose() }
    }

    /// The request that the calling thread's function is about; nil outside. Any thread.
    var currentRequest: RequestPointer? {
        locked {
            var next = pointee.current
            while let request = next, request.pointee.home != HomePointer.current { next = request.pointee.outer }
            return next
        }
    }

    /// Under the mutex.
    func forget(_ request: RequestPointer) {
        if pointee.current == request {
            pointee.current = request.pointee.outer
            return
        }
        var next = pointee.current
        while let other = next {
            if other.pointee.outer == request { other.pointee.outer = request.pointee.outer }
            next = other.pointee.outer
        }
    }

    // MARK: the end

    /// Requests that were not handled are dropped, remote ports that are joined to this one end.
    func endLocal() {
        var drained = DrainedMessages()
        queue.lockBoth()
        queue.closeLocked(&drained)
        var source = pointee.link?.pointee.source
        if let some = source, !some.retainIfAlive() { source = nil }
        queue.unlockBoth()
        // First they hear that the port has ended, then that nobody answers.
        while let remote = locked({ takeJoined() }) {
            remote.invalidate()
            remote.unhold()
        }
        drained.forEach { _ = RequestPointer($0).release() }
        if let source {
            RunLoopPointer.invalidate(source)
            source.giveBack()
        }
    }

    private func takeJoined() -> MessagePortPointer? {
        guard let remote = pointee.joined else { return nil }
        pointee.joined = remote.pointee.nextJoined
        remote.pointee.nextJoined = nil
        return remote
    }
}

extension MessagePortStorage {
    /// The wire that listens on a claim's socket. Under the mutex.
    fileprivate func listener(of claim: NameServer.Claim) -> WirePointer? {
        var next = wires
        while let wire = next, wire.pointee.fd != claim.listener { next = wire.pointee.following }
        return next
    }

    /// A wire to another user. Under the mutex.
    fileprivate var unwelcomeWire: WirePointer? {
        var next = wires
        while let wire = next, wire.pointee.credentials.user == user { next = wire.pointee.following }
        return next
    }
}

extension MessagePortLink {
    /// Under the senders' lock.
    @inline(never)
    func index(of place: Place) -> Int? {
        for index in 0..<places.count where places[index].loop == place.loop && places[index].mode.equals(place.mode) { return index }
        return nil
    }
}

/// The thread has ended in a port's function: the sender hears that there is no answer, unless the client has taken the request.
private func abandonRequest(_ port: UnsafeMutableRawPointer, _ request: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) {
    let port: MessagePortPointer = Handle.storage(UnsafeRawPointer(port))
    let request: RequestPointer = Handle.storage(UnsafeRawPointer(request.unsafelyUnwrapped))
    let context = port.context
    if context.retain != nil { context.released(info) }
    port.finishInline(request)
    _ = request.release()
}
