// An ordinary Swift program that makes much use of its own runtime, of Foundation's run loop, and of this library's. However the library is
// loaded, the program must print the same and exit with 0.
//
//     guest [PATH]    PATH: the shared object with ours.c, opened late; without it ours.c is part of the program
import Foundation

typealias Visit = @convention(c) (UnsafeMutableRawPointer?) -> Void
typealias Visits = @convention(c) (Visit, UnsafeMutableRawPointer?, Int32) -> Int32
typealias Performs = @convention(c) (Visit, UnsafeMutableRawPointer?) -> Int32

func expect(_ condition: Bool, _ what: String) {
    if condition { return }
    print("wrong: \(what)")
    exit(1)
}

// MARK: the program's own objects

class Animal {
    nonisolated(unsafe) static var living = 0
    let name: String
    weak var friend: Animal?

    init(_ name: String) {
        self.name = name
        Self.living += 1
    }

    deinit { Self.living -= 1 }

    func sound() -> String { "" }
}

final class Dog: Animal {
    override func sound() -> String { "\(name) says wuff" }
}

final class Cat: Animal, Comparable {
    override func sound() -> String { "\(name) says miaow" }
    static func < (left: Cat, right: Cat) -> Bool { left.name < right.name }
    static func == (left: Cat, right: Cat) -> Bool { left.name == right.name }
}

struct Refusal: Error { let reason: String }

func refuse(_ reason: String) throws { throw Refusal(reason: reason) }

/// Uses classes, casts, weak references, strings, dictionaries, closures, errors, and Foundation's types.
func useOwnRuntime() {
    do {
        var animals: [Animal] = []
        for number in 0..<500 { animals.append(number % 2 == 0 ? Dog("dog \(number)") : Cat("cat \(number) – żółw 🐢")) }
        for index in animals.indices { animals[index].friend = animals[(index + 1) % animals.count] }
        expect(animals.compactMap { $0 as? Cat }.sorted().count == 250, "casts")
        expect(Set(animals.map { $0.sound() }).count == 500, "strings in a set")
        var byName: [String: Animal] = [:]
        for animal in animals { byName[animal.name] = animal }
        expect(byName["dog 42"]?.friend?.name.hasPrefix("cat 43") == true, "dictionary and weak references")
        expect(Animal.living == 500, "objects live")
        let closures = animals.map { animal in { animal.name.uppercased() } }
        expect(closures.map { $0() }.joined().contains("ŻÓŁW 🐢"), "closures")
        do {
            try refuse("no")
            expect(false, "an error is thrown")
        } catch {
            expect((error as? Refusal)?.reason == "no", "errors")
        }
        let existential: [any Equatable] = [1, "one", 1.0]
        expect(existential.count == 3 && existential[1] as? String == "one", "existentials")
    }
    expect(Animal.living == 0, "objects die")
    let data = try! JSONEncoder().encode(["b": [1, 2], "a": [3]])
    expect(try! JSONDecoder().decode([String: [Int]].self, from: data) == ["a": [3], "b": [1, 2]], "JSON")
    expect(NSString("abc").replacingOccurrences(of: "b", with: "x") == "axc", "NSString")
}

// MARK: the two loops

final class Tally: @unchecked Sendable {
    var visits = 0
    var text: [String: Int] = [:]

    func visit() {
        visits += 1
        text["visit \(visits % 3)", default: 0] += 1
    }

    /// A pointer for C. The object is retained while C uses it.
    var handle: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
}

let visitTally: Visit = { Unmanaged<Tally>.fromOpaque($0!).takeUnretainedValue().visit() }

func find<Function>(_ name: String, in handle: UnsafeMutableRawPointer?) -> Function {
    guard let symbol = dlsym(handle, name) else {
        print("wrong: no \(name): \(String(cString: dlerror()))")
        exit(1)
    }
    return unsafeBitCast(symbol, to: Function.self)
}

/// Runs Foundation's loop of the calling thread until a timer has fired that many times. Its run does not end when a timer has fired, so it
/// is run for short periods.
func foundationVisits(_ tally: Tally, _ times: Int) {
    var left = times
    let timer = Timer(timeInterval: 0.001, repeats: true) { timer in
        tally.visit()
        left -= 1
        if left == 0 { timer.invalidate() }
    }
    RunLoop.current.add(timer, forMode: .default)
    while left > 0 { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
    expect(left == 0, "Foundation's timer fires")
}

func onThread(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
        body()
        done.signal()
    }
    thread.start()
    return done
}

useOwnRuntime()
foundationVisits(Tally(), 2)

var handle = dlopen(nil, RTLD_NOW)
if CommandLine.arguments.count > 1 {
    handle = dlopen(CommandLine.arguments[1], RTLD_NOW | RTLD_GLOBAL)
    if handle == nil {
        print("wrong: \(String(cString: dlerror()))")
        exit(1)
    }
}
let ourLoopVisits: Visits = find("our_loop_visits", in: handle)
let ourLoopPerforms: Performs = find("our_loop_performs", in: handle)

useOwnRuntime()
let ours = Tally()
let theirs = Tally()
expect(ourLoopVisits(visitTally, ours.handle, 5) == 0 && ours.visits == 5, "our timer fires")
expect(ourLoopPerforms(visitTally, ours.handle) == 0 && ours.visits == 6, "our loop performs")
foundationVisits(theirs, 5)
expect(theirs.visits == 5 && ours.visits == 6, "Foundation's loop serves its own only")

// Nested: each loop's timer runs the other loop.
let outer = Tally()
expect(
    ourLoopVisits(
        { info in
            foundationVisits(Tally(), 2)
            visitTally(info)
        }, outer.handle, 3) == 0 && outer.visits == 3, "Foundation's loop runs in ours")
_ = Timer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in
    expect(ourLoopVisits(visitTally, outer.handle, 3) == 0 && outer.visits == 6, "our loop runs in Foundation's")
}
while outer.visits < 6 { _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }

// Side by side, on separate threads, each of which exits with a loop.
let tallies = (0..<4).map { _ in Tally() }
let threads = tallies.enumerated().map { number, tally in
    onThread {
        if number % 2 == 0 {
            expect(ourLoopVisits(visitTally, tally.handle, 20) == 0, "our timer fires on a thread")
        } else {
            foundationVisits(tally, 20)
        }
    }
}
for thread in threads { thread.wait() }
expect(tallies.map { $0.visits } == [20, 20, 20, 20], "both kinds of loop on threads")
useOwnRuntime()
print("right")
