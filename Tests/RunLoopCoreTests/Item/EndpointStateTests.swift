import Testing

@testable import RunLoopCore

@Suite struct EndpointStateTests {
    private let all: [Events] = [[], .readable, .writable, [.readable, .writable]]

    @Test func flagsAndUsersDoNotTouchEachOther() {
        let flags = [
            EndpointState.valid, EndpointState.armedToRead, EndpointState.armedToWrite, EndpointState.registeredToRead,
            EndpointState.registeredToWrite,
            EndpointState.unfinished, EndpointState.closes, EndpointState.readDisabled, EndpointState.writeDisabled,
            EndpointState.connectDisabled, EndpointState.connected, EndpointState.goesOnReading,
        ]
        #expect(Set(flags).count == flags.count)
        for flag in flags {
            #expect(flag.nonzeroBitCount == 1)
            #expect(flag < EndpointState.user)
        }
        var state = EndpointState(flags.reduce(0, |))
        #expect(state.users == 0)
        state.bits += 3 * EndpointState.user
        #expect(state.users == 3)
        for flag in flags {
            state.clear(flag)
            #expect(!state.has(flag))
        }
        #expect(state.bits == 3 * EndpointState.user)
    }

    /// Against two sets.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func armingAndTellingAgreeWithSets(seed: UInt64) {
        var random = Random(seed: seed)
        var state = EndpointState(EndpointState.valid)
        var armed = Events()
        var told = Events()
        for _ in 0..<scaled(2_000) {
            let events = all[random.below(all.count)]
            switch random.below(4) {
            case 0:
                state.arm(events)
                armed.formUnion(events)
            case 1:
                state.disarm(events)
                armed.subtract(events)
            case 2:
                state.setRegistered(events)
                told = events
            default: state.bits = random.chance(50) ? state.bits + EndpointState.user : state.bits
            }
            guard state.armed == armed, state.registered == told, state.needsUpdate == !armed.isSubset(of: told), state.isValid else {
                Issue.record("\(state) instead of \(armed), \(told)")
                return
            }
            if state.users > 100 { state.bits -= 100 * EndpointState.user }
        }
    }

    /// What its source is told beside what it needs is no part of it.
    @Test func otherEventsAreNoArms() {
        var state = EndpointState(0)
        state.arm([.peerClosed, .error, .hangUp])
        state.setRegistered([.peerClosed, .error, .hangUp])
        #expect(state.bits == 0)
        #expect(!state.isValid)
    }
}
