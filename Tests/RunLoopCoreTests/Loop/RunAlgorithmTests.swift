import Testing

/// Compares the complete event lists of random programs, on the real loop and on the model.
@Suite struct RunAlgorithmTests {
    @Test(arguments: 0..<8)
    func agreesWithModel(block: Int) {
        let count = Sanitizer.isSlow ? 150 : 300
        let problems = onThread { (0..<count).compactMap { Self.difference(seed: UInt64(block * 10_000 + $0)) } }
        #expect(problems.isEmpty, "\(problems.count) of \(count) scripts differ; the first: \(problems.first ?? "")")
    }

    /// Returns where the two lists differ, or nil if they are the same.
    static func difference(seed: UInt64) -> String? {
        let script = Script(seed: seed)
        let real = onThread { () -> [Event] in
            let player = Player(script)
            let stage = RealLoop(script, player)
            player.stage = stage
            player.playAll()
            return player.events
        }
        let player = Player(script)
        let stage = ModelLoop(script, player)
        player.stage = stage
        player.playAll()
        let model = player.events
        if real == model { return nil }
        let index = zip(real, model).enumerated().first { $1.0 != $1.1 }?.offset ?? min(real.count, model.count)
        let context = real[max(0, index - 8)..<index].map { "\($0)" }.joined(separator: ", ")
        let realEvent = index < real.count ? "\(real[index])" : "nothing"
        let modelEvent = index < model.count ? "\(model[index])" : "nothing"
        return "seed \(seed), event \(index), after \(context): \(realEvent), the model \(modelEvent)"
    }
}
