import CRunLoop

// The text that RLCopyDescription returns. Intended for debugging; the format may change.

/// Appends a description of any object. Any thread. May call user code (a context's copyDescription): call without a lock held.
func describe(_ object: UnsafeRawPointer, _ text: inout TextBuffer) {
    switch Handle.kind(of: object) {
    case .string:
        let string: StringPointer = Handle.storage(object)
        text.append(string.pointee.bytes, string.count)
    case .data: describe(.data, object, " length=", (Handle.storage(object) as DataPointer).pointee.count, &text)
    case .array: describe(.array, object, " count=", (Handle.storage(object) as ArrayPointer).pointee.count, &text)
    case .set: describe(.set, object, " count=", (Handle.storage(object) as SetPointer).table.pointee.count, &text)
    case .dictionary:
        describe(.dictionary, object, " count=", (Handle.storage(object) as DictionaryPointer).table.pointee.count, &text)
    case .number: (Handle.storage(object) as NumberPointer).describe(&text)
    case .boolean: text.append((Handle.storage(object) as TruthPointer).pointee.value == 0 ? "false" : "true")
    case .null: text.append("<null>")
    case .date:
        begin(.date, object, &text)
        text.append(" ")
        text.append(seconds: (Handle.storage(object) as DatePointer).pointee.time)
        text.append(">")
    case .notificationCenter: text.append("<RLNotificationCenter>")
    case .runLoop: describe(Handle.storage(object) as RunLoopPointer, &text)
    case .source: describe(Handle.storage(object) as SourcePointer, &text)
    case .timer: describe(Handle.storage(object) as TimerPointer, &text)
    case .observer: describe(Handle.storage(object) as ObserverPointer, &text)
    case .fileDescriptor: describe((Handle.storage(object) as FileDescriptorPointer).endpoint, .fileDescriptor, &text)
    case .socket: describe((Handle.storage(object) as SocketPointer).endpoint, .socket, &text)
    case .port: describe(Handle.storage(object) as PortPointer, &text)
    case .portMessage: describe(Handle.storage(object) as PortMessagePointer, &text)
    case .messagePort: describe(Handle.storage(object) as MessagePortPointer, &text)
    case .messagePortRequest: describe(Handle.storage(object) as RequestPointer, &text)
    case nil: text.append("<not an object>")
    }
}

@inline(never)
private func begin(_ kind: Kind, _ object: UnsafeRawPointer, isValid: Bool, _ text: inout TextBuffer) {
    begin(kind, object, &text)
    text.append(" valid=", decimal: isValid ? 1 : 0)
}

@inline(never)
private func begin(_ kind: Kind, _ object: UnsafeRawPointer, _ text: inout TextBuffer) {
    text.append("<")
    text.append(kind.name)
    text.append(" ")
    text.append(address: object)
}

private func describe(_ kind: Kind, _ object: UnsafeRawPointer, _ what: Name, _ count: Int, _ text: inout TextBuffer) {
    begin(kind, object, &text)
    text.append(what, decimal: count)
    text.append(">")
}

/// Describes a loop, its modes and what is in each of them, as far as the buffer allows; the rest is only counted. RunLoopTrace builds its
/// explanations from this text (Sources/RunLoopTrace/ModeItems.c).
private func describe(_ loop: RunLoopPointer, _ text: inout TextBuffer) {
    begin(.runLoop, loop, &text)
    loop.locked {
        if !loop.pointee.isOpen { text.append(" thread=ended") }
        text.append(" waiting=", decimal: loop.pointee.wake.isSleeping ? 1 : 0)
        var modesLeft = 0
        for number in 1..<max(loop.pointee.modes.count, 1) {
            guard let mode = loop.pointee.modes[number] else { continue }
            let start = text.count
            describe(mode, of: loop, reserve: (loop.pointee.modes.count - number) * 48, &text)
            if !text.keep(since: start, leaving: 32) { modesLeft += 1 }
        }
        if modesLeft > 0 {
            text.append(" and ", decimal: modesLeft)
            text.append(" more modes")
        }
    }
    text.append(">")
}

/// Describes a mode: how many sources and timers keep a run in it from returning, and each of the sources. The sources leave at least
/// `reserve` bytes free; those that do not fit are counted. The caller holds the loop's lock.
private func describe(_ mode: ModePointer, of loop: RunLoopPointer, reserve: Int, _ text: inout TextBuffer) {
    text.append(" ")
    text.append(mode.pointee.name.pointee.bytes, mode.pointee.name.count)
    var items = 0
    var sources = 0
    var sourcesLeft = 0
    for index in 0..<mode.pointee.sets.count {
        let set = mode.pointee.sets[index]
        items += set.pointee.sourceCount + set.pointee.timerCount - set.pointee.unreferencedCount
    }
    loop.pointee.registrations.forEach { registration in
        if loop.contains(registration.set, .mode(mode)), !registration.isUnreferenced { sources += 1 }
    }
    text.append("(sources=", decimal: sources)
    text.append(" timers=", decimal: items - sources)
    if mode.pointee.waitingRuns > 0 { text.append(" waits=", decimal: mode.pointee.waitingRuns) }
    loop.pointee.registrations.forEach { registration in
        let source = registration.source
        guard loop.contains(registration.set, .mode(mode)), !registration.isUnreferenced else { return }
        let start = text.count
        text.append(" {")
        describe(what: source, &text)
        text.append(" info=")
        text.append(address: source.pointee.info)
        if source.hasDescriptor, let watch = registration.watch {
            text.append(" fd=", decimal: Int(loop.pointee.poller.watches[watch].fd))
        }
        text.append("}")
        if !text.keep(since: start, leaving: reserve) { sourcesLeft += 1 }
    }
    if sourcesLeft > 0 {
        text.append(" and ", decimal: sourcesLeft)
        text.append(" more")
    }
    text.append(")")
}

/// Describes a source without calling user code: its version, order, state and callout. For a descriptor object or a socket, the callout is
/// the client's function; for the library's other sources, it is an internal one.
@inline(never)
private func describe(what source: SourcePointer, _ text: inout TextBuffer) {
    text.append(" version=", decimal: source.version)
    text.append(" order=", decimal: source.pointee.order)
    text.append(" signalled=", decimal: source.isSignalled ? 1 : 0)
    let isOfEndpoint = source.pointee.item.has(.isOfEndpoint)
    describe(
        callout: isOfEndpoint
            ? addressOfFunction(EndpointPointer(source.pointee.info).pointee.callout.ofDescriptor)
            : addressOfFunction(source.pointee.function.perform), &text)
}

@inline(never)
private func describe(callout: UInt, _ text: inout TextBuffer) {
    text.append(" callout=")
    text.append(address: UnsafeRawPointer(bitPattern: callout))
}

private func describe(_ source: SourcePointer, _ text: inout TextBuffer) {
    begin(.source, source, isValid: source.pointee.item.has(.valid), &text)
    describe(what: source, &text)
    end(source.clientContext, source.pointee.info, &text)
}

private func describe(_ timer: TimerPointer, _ text: inout TextBuffer) {
    let owner = timer.item.lock()
    let date = timer.pointee.date
    let info = timer.info
    let interval = timer.detail?.pointee.clientInterval ?? 0
    var context = timer.detail?.pointee.context ?? .empty
    owner.unlock()
    let isValid = timer.pointee.item.has(.valid)
    if !isValid { context = .empty }
    begin(.timer, timer, isValid: isValid, &text)
    text.append(" interval=")
    text.append(seconds: interval)
    text.append(" next=")
    if date < Clock.latestDate {
        text.append(seconds: date - Clock.currentDate)
        text.append("s from now")
    } else {
        text.append("never")
    }
    end(callout: addressOfFunction(timer.pointee.callout), context, info, &text)
}

private func describe(_ observer: ObserverPointer, _ text: inout TextBuffer) {
    let owner = observer.item.lock()
    var context = observer.pointee.context
    owner.unlock()
    let isValid = observer.pointee.item.has(.valid)
    if !isValid { context = .empty }
    begin(.observer, observer, isValid: isValid, &text)
    text.append(" activities=", decimal: Int(bitPattern: observer.pointee.activities))
    text.append(" order=", decimal: observer.pointee.order)
    end(callout: addressOfFunction(observer.pointee.callout), context, context.info, &text)
}

private func describe(_ endpoint: EndpointPointer, _ kind: Kind, _ text: inout TextBuffer) {
    let isValid = endpoint.state.isValid
    begin(kind, endpoint, isValid: isValid, &text)
    text.append(" fd=", decimal: Int(endpoint.nativeDescriptor))
    let context = isValid ? endpoint.pointee.context : .empty
    end(callout: addressOfFunction(endpoint.pointee.callout.ofDescriptor), context, context.info, &text)
}

/// Appends the end of a description: the callout, so that debuggers can name it, and its info. Calls user code.
@inline(never)
private func end(callout: UInt, _ context: ClientContext, _ info: UnsafeMutableRawPointer?, _ text: inout TextBuffer) {
    describe(callout: callout, &text)
    end(context, info, &text)
}

@inline(never)
private func end(_ context: ClientContext, _ info: UnsafeMutableRawPointer?, _ text: inout TextBuffer) {
    text.append(" info=")
    if let handle = context.description(of: info),
        let description: StringPointer = Handle.borrow(handle, "RLCopyDescription", "result of copyDescription")
    {
        text.append(description.pointee.bytes, description.count)
        description.release()
    } else {
        text.append(address: info)
    }
    text.append(">")
}

private func describe(_ port: PortPointer, _ text: inout TextBuffer) {
    let context = port.base.context
    begin(.port, port, isValid: port.base.isValid, &text)
    text.append(" waiting=", decimal: Int(port.queue.count))
    text.append(" capacity=", decimal: Int(port.queue.capacity))
    end(callout: addressOfFunction(port.pointee.callout), context, context.info, &text)
}

private func describe(_ message: PortMessagePointer, _ text: inout TextBuffer) {
    begin(.portMessage, message, &text)
    text.append(" id=", decimal: Int(message.pointee.id))
    text.append(" components=", decimal: message.pointee.components?.pointee.count ?? 0)
    text.append(">")
}

private func describe(_ port: MessagePortPointer, _ text: inout TextBuffer) {
    let (name, isValid, context) = port.locked { () -> (StringPointer?, Bool, ClientContext) in
        port.pointee.name?.retain()
        return (port.pointee.name, port.pointee.base.isValid, port.pointee.base.context)
    }
    begin(.messagePort, port, isValid: isValid, &text)
    text.append(port.pointee.isRemote ? " remote" : " local")
    if let name {
        text.append(" name=")
        text.append(name.pointee.bytes, name.count)
        name.release()
    }
    end(callout: addressOfFunction(port.pointee.callout), context, context.info, &text)
}

private func describe(_ request: RequestPointer, _ text: inout TextBuffer) {
    begin(.messagePortRequest, request, &text)
    text.append(" message=", decimal: Int(request.pointee.messageID))
    text.append(" length=", decimal: request.pointee.data.pointee.count)
    text.append(">")
}
