import CLinux
import Testing

@testable import RunLoopCore

/// Uses the poller at random and compares it with a list of the descriptors that should be ready.
@Suite struct PollerModelTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func agreesWithModel(seed: UInt64) {
        let problem = run(seed: seed, steps: scaled(3_000))
        #expect(problem == nil)
    }

    private struct Expected {
        var index: Int?
        var isSilent = false
        var bytes = 0
    }

    private func run(seed: UInt64, steps: Int) -> String? {
        var random = Random(seed: seed)
        let pipes = (0..<12).map { _ in Pipe() }
        var model = [Expected](repeating: Expected(), count: pipes.count)
        var watcher = Watcher()
        defer { watcher.close() }
        for step in 0..<steps {
            let which = random.below(pipes.count)
            switch random.below(6) {
            case 0:
                if let index = model[which].index {
                    watcher.poller.remove(index)
                    model[which].index = nil
                } else {
                    let index = watcher.add(pipes[which].readEnd, client: which + 1)
                    if model.contains(where: { $0.index == index }) { return "step \(step): index \(index) is taken" }
                    model[which].index = index
                    model[which].isSilent = false
                }
            case 1:
                if let index = model[which].index { watcher.poller.reduce(index, to: []) }
                model[which].isSilent = true
            case 2:
                if let index = model[which].index, !watcher.poller.listen(index) { return "step \(step): listen" }
                model[which].isSilent = false
            case 3:
                pipes[which].put()
                model[which].bytes += 1
            case 4 where model[which].bytes > 0:
                pipes[which].take()
                model[which].bytes -= 1
            default: break
            }
            if let problem = compare(&watcher, model, pipes, random.chance(20) ? which : nil) { return "step \(step): \(problem)" }
        }
        return nil
    }

    /// `late` is removed and added again between fetching and taking, so its report must not be delivered.
    private func compare(_ watcher: inout Watcher, _ model: [Expected], _ pipes: [Pipe], _ late: Int?) -> String? {
        for (which, expected) in model.enumerated() {
            if watcher.poller.index(of: pipes[which].readEnd) != expected.index { return "index of pipe \(which)" }
            if let index = expected.index, watcher.poller[index].client != UInt64(which + 1) << 1 {
                return "client"
            }
        }
        let silent = model.filter { $0.index != nil && $0.isSilent }.count
        if watcher.poller.underRegisteredCount != silent {
            return "\(watcher.poller.underRegisteredCount) silent watches instead of \(silent)"
        }
        watcher.wait()
        var ready = Set(model.filter { !$0.isSilent && $0.bytes > 0 }.compactMap(\.index))
        if let late, let index = model[late].index, !model[late].isSilent {
            watcher.poller.remove(index)
            if watcher.add(pipes[late].readEnd, client: late + 1) != index { return "another index" }
            ready.remove(index)
        }
        let seen = watcher.take()
        return seen == ready.sorted() ? nil : "\(seen) reported instead of \(ready.sorted())"
    }
}
