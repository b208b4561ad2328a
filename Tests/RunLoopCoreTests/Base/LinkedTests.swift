import Testing

@testable import RunLoopCore

/// Compares the lists with the standard library's array: any element can be removed, and only once.
@Suite struct LinkedTests {
    private struct Element: Linked, ~Copyable {
        let number: Int
        var previous: UnsafeMutablePointer<Element>?
        var following: UnsafeMutablePointer<Element>?
    }

    private typealias ElementPointer = UnsafeMutablePointer<Element>

    private func numbers(_ first: ElementPointer?) -> [Int] {
        var found: [Int] = []
        var next = first
        while let element = next {
            #expect(element.pointee.previous?.pointee.number == found.last)
            found.append(element.pointee.number)
            next = element.pointee.following
        }
        return found
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithArray(seed: UInt64) {
        var random = Random(seed: seed)
        let count = 12
        let elements = ElementPointer.allocate(capacity: count)
        for index in 0..<count { (elements + index).initialize(to: Element(number: index)) }
        defer {
            elements.deinitialize(count: count)
            elements.deallocate()
        }
        var first: ElementPointer?
        var model: [Int] = []
        for _ in 0..<400 {
            let number = random.below(count)
            let element = elements + number
            if let index = model.firstIndex(of: number) {
                #expect(element.unlink(from: &first))
                model.remove(at: index)
            } else if random.chance(2) {
                element.link(into: &first)
                model.insert(number, at: 0)
            } else {
                #expect(!element.unlink(from: &first))
            }
            #expect(numbers(first) == model)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func queueAgreesWithArray(seed: UInt64) {
        var random = Random(seed: seed)
        let count = 12
        let elements = ElementPointer.allocate(capacity: count)
        for index in 0..<count { (elements + index).initialize(to: Element(number: index)) }
        defer {
            elements.deinitialize(count: count)
            elements.deallocate()
        }
        var queue = LinkedQueue<Element>()
        var model: [Int] = []
        for _ in 0..<400 {
            let number = random.below(count)
            if let index = model.firstIndex(of: number) {
                queue.remove(elements + number)
                model.remove(at: index)
            } else if random.chance(2) {
                queue.append(elements + number)
                model.append(number)
            } else {
                queue.remove(elements + number)
            }
            #expect(numbers(queue.first) == model)
            let limit = random.below(count)
            #expect(queue.first?.first { $0.pointee.number >= limit }?.pointee.number == model.first { $0 >= limit })
        }
    }
}
