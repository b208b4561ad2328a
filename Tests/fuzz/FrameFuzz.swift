import CLinux

// libFuzzer's entry to `Frame.parse`, or to either end of a `Ring` if the first byte selects that (RingFuzz.swift). Otherwise the first
// byte selects which end receives the packet and whether a descriptor arrived with it; the rest is the packet. Accepted frames must be
// valid, which is checked here by independent code.

@_cdecl("LLVMFuzzerTestOneInput")
public func LLVMFuzzerTestOneInput(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    if count == 0 { return 0 }
    if bytes[0] & 16 != 0 {
        fuzzRing(bytes + 1, count - 1)
        return 0
    }
    if bytes[0] & 32 != 0 {
        fuzzClientOfRing(bytes + 1, count - 1)
        return 0
    }
    let receivers: [Frame.Receiver] = [.newServer, .server, .client]
    let receiver = receivers[Int(bytes[0] & 3) % 3]
    let hasFile = bytes[0] & 4 != 0
    // A packet may be larger than the part of it that was read.
    let size = count - 1 + (bytes[0] & 8 != 0 ? 70_000 : 0)
    var head: Frame.Head = (0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &head) { memcpy($0.baseAddress!, bytes + 1, min(count - 1, Frame.headSize)) }

    guard let frame = Frame.parse(head, size: size, hasFile: hasFile, receiver: receiver) else { return 0 }
    precondition(size >= 32 && head.0 == 0x324D_4C52 && head.3 == 0)
    precondition(frame.length >= 0 && frame.length <= 0x6000_0000)
    switch frame.payloadLocation {
    case .absent: precondition(frame.length == 0 && size == 32 && !hasFile)
    case .inline:
        precondition(size == 32 + frame.length && frame.length <= (frame.kind == .piece ? Frame.pieceLimit : Frame.inlineLimit) && !hasFile)
    case .pieces: precondition(size == 32 && !hasFile && frame.length > Frame.inlineLimit)
    case .file: precondition(size == 32 && hasFile && receiver == .client && frame.kind == .ring && frame.length == 516 * 1024)
    }
    switch (receiver, frame.kind) {
    case (.newServer, _): precondition(frame.kind == .hello && (1...255).contains(frame.length))
    case (_, .piece): precondition(frame.payloadLocation == .inline && frame.length > 0 && frame.id == 0)
    case (.server, .request): precondition(frame.payloadLocation == .inline || frame.payloadLocation == .pieces)
    case (.server, _):
        precondition(frame.kind == .ring || frame.kind == .doorbell || frame.kind == .abandoned)
        precondition(frame.payloadLocation == .absent && frame.id == 0)
    case (.client, .ring): precondition(frame.payloadLocation == .file && frame.id == 0)
    case (.client, .doorbell): precondition(frame.payloadLocation == .absent && frame.id == 0)
    case (.client, _): precondition((frame.kind == .reply || frame.kind == .dropped) && frame.id != 0)
    }
    // Writing the parsed frame gives the original bytes.
    var again = frame.head
    withUnsafeBytes(of: &again) { new in withUnsafeBytes(of: &head) { precondition(memcmp(new.baseAddress!, $0.baseAddress!, 32) == 0) } }
    return 0
}
