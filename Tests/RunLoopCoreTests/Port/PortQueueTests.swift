import CLinux
import Testing

@testable import RunLoopCore

/// Compares the queue with an array, and checks when it is signalled.
@Suite struct PortQueueTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithArray(seed: UInt64) {
        let problem = onThread { compare(seed: seed, steps: scaled(50_000)) }
        #expect(problem == nil)
    }

    /// Creates a message. Messages are numbers here, since the queue never inspects their parts.
    private func message(_ number: Int) -> QueuedMessage {
        QueuedMessage(UnsafeMutableRawPointer(bitPattern: number * 8 + 8), id: UInt32(number & 0xFFFF))
    }

    /// Returns the number of a message whose parts are unchanged; nil for any other message.
    private func number(_ message: QueuedMessage?) -> Int? {
        guard let message else { return nil }
        let number = Int(bitPattern: message.content) / 8 - 1
        return message.replyPort == nil && message.id == UInt32(number & 0xFFFF) ? number : nil
    }

    private func compare(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        var capacity = 5
        let queue = UnsafeMutablePointer<PortQueue>.allocate(capacity: 1)
        queue.initialize(to: PortQueue(capacity: UInt32(capacity)))
        defer {
            queue.deinitialize(count: 1)
            queue.deallocate()
        }
        var model: [Int] = []
        for step in 0..<steps {
            switch random.below(11) {
            case 0...4:
                let error = queue.put(message(step), until: .distantPast)
                let expected = model.count < capacity ? 0 : ETIMEDOUT
                if error != expected { return "put: \(error), not \(expected), at \(step)" }
                if expected == 0 { model.append(step) }
                if queue.pointee.isSignalled == model.isEmpty { return "signalled: \(queue.pointee.isSignalled) at \(step)" }
            case 5...8:
                let taken = queue.takeNext(nil, inStream: random.below(2) == 0)
                if number(taken) != model.first { return "took something else at \(step)" }
                if queue.pointee.isSignalled == model.isEmpty { return "signalled: \(queue.pointee.isSignalled) at \(step)" }
                if !model.isEmpty { model.removeFirst() }
            case 9:
                capacity = 1 + random.below(20)
                queue.setCapacity(UInt32(capacity))
            default:
                if Int(queue.count) != model.count { return "count \(queue.count), not \(model.count), at \(step)" }
            }
        }
        queue.close()
        var left: [Int?] = []
        while let queued = queue.takeNext(nil) { left.append(number(queued)) }
        if left != model || queue.count != 0 { return "what was left is something else" }
        return queue.put(message(0), until: .never) == EPIPE ? nil : "a closed queue takes messages"
    }

    @Test func messagesOfEachSenderStayInOrder() {
        let problem = onThread { flood(senders: 3, each: scaled(20_000), capacity: 7) }
        #expect(problem == nil)
    }

    /// Several threads enqueue numbers and wait for room; the calling thread dequeues them.
    private func flood(senders: Int, each: Int, capacity: UInt32) -> String? {
        let queue = UnsafeMutablePointer<PortQueue>.allocate(capacity: 1)
        queue.initialize(to: PortQueue(capacity: capacity))
        let threads = (0..<senders).map { sender in
            spawn {
                for number in 0..<each {
                    _ = queue.put(message(sender << 32 | number), until: .never)
                }
            }
        }
        var next = [Int](repeating: 0, count: senders)
        var count = 0
        while count < senders * each {
            guard let taken = queue.takeNext(nil, inStream: count % 3 == 0) else {
                pauseProcessor()
                continue
            }
            guard let number = number(taken) else { return "another message than was put in" }
            if next[number >> 32] != number & 0xFFFF_FFFF { return "sender \(number >> 32) out of order" }
            next[number >> 32] += 1
            count += 1
        }
        for thread in threads { thread.join() }
        queue.deinitialize(count: 1)
        queue.deallocate()
        return nil
    }
}
