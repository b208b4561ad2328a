import Testing

@testable import RunLoopCore

/// What a connection keeps for large data, whatever the other end says. What goes through it is in Tests/c/test-message-port-large.c.
@Suite struct LoanTests {
    /// The first large data has a file of its own.
    private func acquireSecond(_ sharedBuffer: inout SharedBuffer) -> Int32 {
        #expect(sharedBuffer.acquire(50_000, isOneWay: true) == -1)
        return sharedBuffer.acquire(50_000, isOneWay: true)
    }

    @Test func fileThatWasReadIsLentAgain() {
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

    @Test func fileThatWasNotSentIsNotExpected() {
        var sharedBuffer = SharedBuffer()
        let file = acquireSecond(&sharedBuffer)
        sharedBuffer.cancelSend()
        #expect(!sharedBuffer.isExpectedSoon && sharedBuffer.acquire(50_000, isOneWay: true) == file)
        sharedBuffer.endUse()
        sharedBuffer.stopExpecting()
        #expect(sharedBuffer.isExpectedSoon == false)
        sharedBuffer.close()
    }

    /// That it was read before it was sent takes it away from nobody.
    @Test func fileThatWasNotSentYetStays() {
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
