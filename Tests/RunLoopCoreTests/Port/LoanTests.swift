import Testing

@testable import RunLoopCore

/// What a wire keeps for large data, whatever the other end says. What goes through it is in Tests/c/test-message-port-large.c.
@Suite struct LoanTests {
    /// The first large data has a file of its own.
    private func lent(_ loan: inout Loan) -> Int32 {
        #expect(loan.take(50_000, isSoonRead: true) == -1)
        return loan.take(50_000, isSoonRead: true)
    }

    @Test func fileThatWasReadIsLentAgain() {
        var loan = Loan()
        let file = lent(&loan)
        #expect(file >= 0 && loan.isExpected)
        loan.endUse()
        #expect(loan.take(50_000, isSoonRead: true) == -1)
        loan.returned(1)
        #expect(loan.isExpected == false)
        #expect(loan.take(50_000, isSoonRead: false) == file && !loan.isExpected)
        loan.endUse()
        loan.end()
    }

    @Test func fileThatWasNotSentIsNotExpected() {
        var loan = Loan()
        let file = lent(&loan)
        loan.takeBack()
        #expect(!loan.isExpected && loan.take(50_000, isSoonRead: true) == file)
        loan.endUse()
        loan.expectNothing()
        #expect(loan.isExpected == false)
        loan.end()
    }

    /// That it was read before it was sent takes it away from nobody.
    @Test func fileThatWasNotSentYetStays() {
        var loan = Loan()
        let file = lent(&loan)
        loan.returned(1)
        #expect(loan.take(4_000_000, isSoonRead: true) == -1)
        for _ in 0..<1000 { loan.noteSmall() }
        let bytes = [UInt8](repeating: 7, count: 50_000)
        loan.write(bytes, bytes.count)
        loan.endUse()
        let next = loan.take(50_000, isSoonRead: true)
        #expect(next == file)
        loan.endUse()
        loan.returned(2)
        for _ in 0..<1000 { loan.noteSmall() }
        #expect(loan.take(50_000, isSoonRead: true) == -1)
        loan.end()
    }
}
