import Testing

@testable import RunLoopCore

/// When a shared buffer may be used, whatever the peer reports. Payloads go through one in Tests/c/test-message-port-large.c.
@Suite struct LoanTests {
    /// The first large payload has a file of its own; the second one gets the buffer.
    private func acquireSecond(_ sharedBuffer: inout SharedBuffer) -> Int32 {
        #expect(sharedBuffer.acquire(50_000, isOneWay: true) == -1)
        return sharedBuffer.acquire(50_000, isOneWay: true)
    }

    @Test func bufferThatWasReadIsSentAgain() {
        var sharedBuffer = SharedBuffer()
        let file = acquireSecond(&sharedBuffer)
        #expect(file >= 0 && sharedBuffer.isExpectedSoon)
        sharedBuffer.endUse()
        #expect(sharedBuffer.acquire(50_000, isOneWay: true) == -1)
        sharedBuffer.noteRead(1)
        #expect(sharedBuffer.isExpectedSoon == false)
        #expect(sharedBuffer.acquire(50_000, isOneWay: false) == file && !sharedBuffer.isExpectedSoon)
        sharedBuffer.endUse()
        sharedBuffer.close()
    }

    @Test func bufferThatWasNotSentIsNotExpected() {
        var sharedBuffer = SharedBuffer()
        let file = acquireSecond(&sharedBuffer)
        sharedBuffer.cancelSend()
        #expect(!sharedBuffer.isExpectedSoon && sharedBuffer.acquire(50_000, isOneWay: true) == file)
        sharedBuffer.endUse()
        sharedBuffer.stopExpecting()
        #expect(sharedBuffer.isExpectedSoon == false)
        sharedBuffer.close()
    }

    /// A peer that reports the buffer as read before it was sent does not take it away from the thread that writes to it.
    @Test func bufferInUseStays() {
        var sharedBuffer = SharedBuffer()
        let file = acquireSecond(&sharedBuffer)
        sharedBuffer.noteRead(1)
        #expect(sharedBuffer.acquire(4_000_000, isOneWay: true) == -1)
        for _ in 0..<1000 { sharedBuffer.noteSmallFrame() }
        let bytes = [UInt8](repeating: 7, count: 50_000)
        sharedBuffer.write(bytes, bytes.count)
        sharedBuffer.endUse()
        let next = sharedBuffer.acquire(50_000, isOneWay: true)
        #expect(next == file)
        sharedBuffer.endUse()
        sharedBuffer.noteRead(2)
        for _ in 0..<1000 { sharedBuffer.noteSmallFrame() }
        #expect(sharedBuffer.acquire(50_000, isOneWay: true) == -1)
        sharedBuffer.close()
    }
}
