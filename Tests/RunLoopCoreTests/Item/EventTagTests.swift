import CRunLoop
import Testing

@testable import RunLoopCore

/// The tag by which epoll identifies a source while it is registered.
@Suite struct EventTagTests {
    @Test func tagIsTheSourceAddressAndOdd() {
        let seen = withSource { source, _ in
            let tag = source.eventTag!
            return [tag & 1 == 1, SourcePointer(eventTag: tag) == source, SourcePointer.address(ofTag: tag) == source]
        }
        #expect(seen == [true, true, true])
    }

    @Test func tagOfAnEarlierGenerationMatchesNoSource() {
        let seen = withSource { source, _ in
            let old = source.eventTag!
            source.advanceGeneration()
            return [SourcePointer(eventTag: old) == nil, SourcePointer(eventTag: source.eventTag!) == source, old != source.eventTag!]
        }
        #expect(seen == [true, true, true])
    }

    /// The generation continues where the previous source in this memory stopped.
    @Test func tagDiffersFromThatOfTheNextSourceInTheSameMemory() {
        let seen = onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            var seen: [Bool] = []
            let first = create(threadContext)
            let old = first.eventTag!
            first.advanceGeneration()
            first.destroy()
            let second = create(threadContext)
            seen += [first == second, second.eventTag! & 1 == 1, SourcePointer(eventTag: old) == nil]
            second.destroy()
            return seen
        }
        #expect(seen == [true, true, true])
    }

    /// After 2 million registrations the generations repeat; the address in the tag is unaffected.
    @Test func generationsWrapAround() {
        let seen = withSource { source, _ in
            let first = source.eventTag!
            var isSame = true
            for _ in 1..<(1 << 21) {
                source.advanceGeneration()
                let tag = source.eventTag!
                if tag & 1 == 0 || tag == first || SourcePointer.address(ofTag: tag) != source { isSame = false }
            }
            source.advanceGeneration()
            return [isSame, source.eventTag! == first]
        }
        #expect(seen == [true, true])
    }

    /// A source that shares its descriptor is found by the watch, and a source that is alone by its tag.
    @Test func onlyASourceAloneOnItsDescriptorHasATag() {
        let seen = onThread { () -> [Bool] in
            let loop = Registry.current!
            let pipe = Pipe()
            let sources = (0..<2).map { create(loop.threadContext, order: $0, UnsafeMutableRawPointer(bitPattern: UInt(pipe.readEnd))) }
            let mode = ModeName.default
            var seen: [Bool] = []
            func isTagged() -> Bool { loop.pointee.poller[loop.pointee.poller.index(of: pipe.readEnd)!].hasTagOfSource }
            _ = loop.add(sources[0], in: mode)
            let alone = sources[0].eventTag!
            seen += [isTagged(), SourcePointer(eventTag: alone) == sources[0]]
            _ = loop.add(sources[1], in: mode)
            seen += [!isTagged(), SourcePointer(eventTag: alone) == nil]
            for source in sources {
                RunLoopPointer.invalidate(source)
                source.release()
            }
            seen.append(loop.pointee.poller.index(of: pipe.readEnd) == nil)
            return seen
        }
        #expect(seen == [true, true, true, true, true])
    }

    private func create(_ threadContext: ThreadContextPointer, order: Int = 0, _ info: UnsafeMutableRawPointer? = nil) -> SourcePointer {
        SourcePointer.create(
            threadContext, order: order, info: info, perform: nil, getPort: { Int32(truncatingIfNeeded: UInt(bitPattern: $0)) },
            SourceDetail())!
    }

    private func withSource(_ body: @escaping @Sendable (SourcePointer, ThreadContextPointer) -> [Bool]) -> [Bool] {
        onThread { () -> [Bool] in
            let threadContext = Registry.current!.threadContext
            let source = create(threadContext)
            defer { source.destroy() }
            return body(source, threadContext)
        }
    }
}
