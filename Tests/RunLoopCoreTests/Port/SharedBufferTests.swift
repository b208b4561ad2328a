import Testing

@testable import RunLoopCore

/// What a connection keeps for large data, whatever the other end says. What goes through it is in Tests/c/test-message-port-large.c.
@Suite struct LoanTests {
    /// The first large data has a file of its own.
    private func lent(_ sharedBuffer: inout SharedBuffer) -> Int32 {
        #expect(sharedBuffer.take(50_000, isOneWay: true) == -1)
        return sharedBuffer.take(50_000, isOneWay: true)
    }

    @Test func fileThatWasReadIsLentAgain() {
        var sharedBuffer = SharedBuffer()
        let file = lent(&sharedBuffer)
        #expect(file >= 0 && sharedBuffer.isExpected)
        sharedBuffer.endUse()
        #expect(sharedBuffer.take(50_000, isOneWay: true) == -1)
        sharedBuffer.returned(1)
        #expect(sharedBuffer.isExpected == false)
        #expect(sharedBuffer.take(50_000, isOneWay: false) == file && !sharedBuffer.isExpected)
        sharedBuffer.endUse()
        sharedBuffer.end()
    }

    @Test func fileThatWasNotSentIsNotExpected() {
        var sharedBuffer = SharedBuffer()
        let file = lent(&sharedBuffer)
        sharedBuffer.takeBack()
        #expect(!sharedBuffer.isExpected && sharedBuffer.take(50_000, isOneWay: true) == file)
        sharedBuffer.endUse()
        sharedBuffer.expectNothing()
        #expect(sharedBuffer.isExpected == false)
        sharedBuffer.end()
    }

    /// That it was read before it was sent takes it away from nobody.
    @Test func fileThatWasNotSentYetStays() {
        var sharedBuffer = SharedBuffer()
        let file = lent(&sharedBuffer)
        sharedBuffer.returned(1)
        #expect(sharedBuffer.take(4_000_000, isOneWay: true) == -1)
        for _ in 0..<1000 { sharedBuffer.noteSmall() }
        let bytes = [UInt8](repeating: 7, count: 50_000)
        sharedBuffer.write(bytes, bytes.count)
        sharedBuffer.endUse()
        let next = sharedBuffer.take(50_000, isOneWay: true)
        #expect(next == file)
        sharedBuffer.endUse()
        sharedBuffer.returned(2)
        for _ in 0..<1000 { sharedBuffer.noteSmall() }
        #expect(sharedBuffer.take(50_000, isOneWay: true) == -1)
        sharedBuffer.end()
    }
}
