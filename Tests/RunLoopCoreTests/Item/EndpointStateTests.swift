import Testing

@testable import RunLoopCore

@Suite struct EndpointStateTests {
    private let all: [Events] = [[], .readable, .writable, [.readable, .writable]]

    @Test func flagsAndUserCountAreIndependent() {
        let flags = [
            EndpointState.valid, EndpointState.armedRead, EndpointState.armedWrite, EndpointState.registeredToRead,
            EndpointState.registeredToWrite,
            EndpointState.awaitsLastUser, EndpointState.closesDescriptor, EndpointState.readDisabled, EndpointState.writeDisabled,
            EndpointState.connectDisabled, EndpointState.connected,
        ]
        #expect(Set(flags).count == flags.count)
        for flag in flags {
            #expect(flag.nonzeroBitCount == 1)
            #expect(flag < EndpointState.callUnit)
        }
        var state = EndpointState(flags.reduce(0, |))
        #expect(state.activeCalls == 0)
        state.bits += 3 * EndpointState.callUnit
        #expect(state.activeCalls == 3)
        for flag in flags {
            state.clear(flag)
            #expect(!state.has(flag))
        }
        #expect(state.bits == 3 * EndpointState.callUnit)
    }

    /// Compares the state with two sets of events.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func armedAndRegisteredEventsAgreeWithSets(seed: UInt64) {
        var random = Random(seed: seed)
        var state = EndpointState(EndpointState.valid)
        var armed = Events()
        var registered = Events()
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
                registered = events
            default: state.bits = random.chance(50) ? state.bits + EndpointState.callUnit : state.bits
            }
            guard state.armed == armed, state.registered == registered, state.needsUpdate == !armed.isSubset(of: registered), state.isValid
            else {
                Issue.record("\(state) instead of \(armed), \(registered)")
                return
            }
            if state.activeCalls > 100 { state.bits -= 100 * EndpointState.callUnit }
        }
    }

    /// Events that a source registers in addition to those it needs are not part of the state.
    @Test func otherEventsDoNotArm() {
        var state = EndpointState(0)
        state.arm([.peerClosed, .error, .hangUp])
        state.setRegistered([.peerClosed, .error, .hangUp])
        #expect(state.bits == 0)
        #expect(!state.isValid)
    }
}
