import CRunLoop

// What RLCopyDescription says. For people who debug; the format may change.

/// Appends a description of any object. Any thread; calls a context's copyDescription, without a lock.
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

/// A loop, its modes, and what is in each. The companion's explanations are made of this (Sources/RunLoopTrace/Explain.c).
private func describe(_ loop: RunLoopPointer, _ text: inout TextBuffer) {
    begin(.runLoop, loop, &text)
    loop.locked {
        if !loop.pointee.isOpen { text.append(" thread=ended") }
        text.append(" waiting=", decimal: loop.pointee.wake.isSleeping ? 1 : 0)
        for number in 1..<max(loop.pointee.modes.count, 1) {
            guard let mode = loop.pointee.modes[number] else { continue }
            text.append(" ")
            text.append(mode.pointee.name.pointee.bytes, mode.pointee.name.count)
            var sources = 0
            var timers = 0
            for index in 0..<mode.pointee.sets.count {
                sources += mode.pointee.sets[index].pointee.sourceCount
                timers += mode.pointee.sets[index].pointee.timerCount
            }
            text.append("(sources=", decimal: sources)
            text.append(" timers=", decimal: timers)
            loop.pointee.registrations.forEach { registration in
                guard registration.set?.pointee.modes.contains(number) == true, !registration.source.pointee.item.has(.unreferenced) else {
                    return
                }
                text.append(" {")
                describe(what: registration.source, &text)
                if registration.isWatched, let watch = registration.watch {
                    text.append(" fd=", decimal: Int(loop.pointee.poller[watch].fd))
                }
                text.append("}")
            }
            text.append(")")
        }
    }
    text.append(">")
}

/// What a source is, without calling its client's functions.
private func describe(what source: SourcePointer, _ text: inout TextBuffer) {
    text.append("version=", decimal: source.version)
    text.append(" order=", decimal: source.pointee.order)
    text.append(" signalled=", decimal: source.isSignalled ? 1 : 0)
    var function = addressOfFunction(source.pointee.function.perform)
    if source.pointee.item.has(.isOfEndpoint) {
        function = addressOfFunction(EndpointPointer(info: source.pointee.info).pointee.callout.ofDescriptor)
    }
    describe(callout: function, &text)
}

private func describe(callout function: UInt, _ text: inout TextBuffer) {
    text.append(" callout=")
    text.append(address: UnsafeRawPointer(bitPattern: function))
}

private func describe(_ source: SourcePointer, _ text: inout TextBuffer) {
    begin(.source, source, &text)
    describe(valid: source.item, &text)
    text.append(" ")
    describe(what: source, &text)
    describe(source.clientContext, source.pointee.info, &text)
}

private func describe(_ timer: TimerPointer, _ text: inout TextBuffer) {
    let owner = timer.item.lock()
    let date = timer.pointee.date
    let info = timer.info
    let interval = timer.detail?.pointee.clientInterval ?? 0
    var context = timer.detail?.pointee.context ?? .empty
    owner.unlock()
    if !timer.pointee.item.has(.valid) { context = .empty }
    begin(.timer, timer, &text)
    describe(valid: timer.item, &text)
    text.append(" interval=")
    text.append(seconds: interval)
    text.append(" next=")
    if date < Clock.latestDate {
        text.append(seconds: date - Clock.currentDate)
        text.append("s from now")
    } else {
        text.append("never")
    }
    describe(context, info, &text)
}

private func describe(_ observer: ObserverPointer, _ text: inout TextBuffer) {
    let owner = observer.item.lock()
    var context = observer.pointee.context
    owner.unlock()
    if !observer.pointee.item.has(.valid) { context = .empty }
    begin(.observer, observer, &text)
    describe(valid: observer.item, &text)
    text.append(" activities=", decimal: Int(bitPattern: observer.pointee.activities))
    text.append(" order=", decimal: observer.pointee.order)
    describe(context, context.info, &text)
}

private func describe(_ endpoint: EndpointPointer, _ kind: Kind, _ text: inout TextBuffer) {
    begin(kind, endpoint, &text)
    let isValid = endpoint.state.isValid
    describe(valid: isValid, &text)
    text.append(" fd=", decimal: Int(endpoint.nativeDescriptor))
    let context = isValid ? endpoint.pointee.context : .empty
    describe(context, context.info, &text)
}

private func describe(valid item: ItemPointer, _ text: inout TextBuffer) {
    describe(valid: item.pointee.has(.valid), &text)
}

private func describe(valid: Bool, _ text: inout TextBuffer) {
    text.append(" valid=", decimal: valid ? 1 : 0)
}

private func describe(_ context: ClientContext, _ info: UnsafeMutableRawPointer?, _ text: inout TextBuffer) {
    text.append(" info=")
    if let handle = context.description(of: info),
        let description: StringPointer = Handle.borrow(handle, "RLCopyDescription", "the result of copyDescription")
    {
        text.append(description.pointee.bytes, description.count)
        description.release()
    } else {
        text.append(address: info)
    }
    text.append(">")
}

private func describe(_ port: PortPointer, _ text: inout TextBuffer) {
    let context = port.context
    begin(.port, port, &text)
    describe(valid: port.isValid, &text)
    text.append(" waiting=", decimal: Int(port.queue.count))
    text.append(" capacity=", decimal: Int(port.queue.capacity))
    describe(context, context.info, &text)
}

private func describe(_ message: PortMessagePointer, _ text: inout TextBuffer) {
    begin(.portMessage, message, &text)
    text.append(" id=", decimal: Int(message.pointee.id))
    text.append(" components=", decimal: message.pointee.components?.pointee.count ?? 0)
    text.append(">")
}

private func describe(_ port: MessagePortPointer, _ text: inout TextBuffer) {
    begin(.messagePort, port, &text)
    let (name, isValid, context) = port.locked { () -> (StringPointer?, Bool, ClientContext) in
        port.pointee.name?.retain()
        return (port.pointee.name, port.pointee.isValid, port.pointee.context)
    }
    describe(valid: isValid, &text)
    text.append(port.pointee.isRemote ? " remote" : " local")
    if let name {
        text.append(" name=")
        text.append(name.pointee.bytes, name.count)
        name.release()
    }
    describe(context, context.info, &text)
}

private func describe(_ request: RequestPointer, _ text: inout TextBuffer) {
    begin(.messagePortRequest, request, &text)
    text.append(" message=", decimal: Int(request.pointee.message))
    text.append(" length=", decimal: request.pointee.data.pointee.count)
    text.append(">")
}
