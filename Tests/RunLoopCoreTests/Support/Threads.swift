import CLinux

// Plain threads: the library keeps per-thread state, so tests must know which thread they are on, and Swift's tasks move between threads. A
// thread reports through its return value, because an expectation outside of the test's task belongs to no test.

struct RunningThread {
    fileprivate let id: pthread_t

    func join() { pthread_join(id, nil) }
}

func spawn(_ body: @escaping () -> Void) -> RunningThread {
    var id = pthread_t()
    let job = Unmanaged.passRetained(Job(body))
    let status = pthread_create(
        &id, nil,
        { raw in
            Unmanaged<Job>.fromOpaque(raw.unsafelyUnwrapped).takeRetainedValue().body()
            return nil
        }, job.toOpaque())
    precondition(status == 0)
    return RunningThread(id: id)
}

/// Returns what `body` returns on a new thread, which has exited by then.
func onThread<Result>(_ body: @escaping () -> Result) -> Result {
    let box = Box<Result?>(nil)
    spawn { box.value = body() }.join()
    return box.value.unsafelyUnwrapped
}

/// Runs `count` threads at the same time, each with its number. Returns when all have exited.
func inParallel(_ count: Int, _ body: @escaping (Int) -> Void) {
    let threads = (0..<count).map { number in spawn { body(number) } }
    for thread in threads { thread.join() }
}

private final class Job {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

final class Box<Value> {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// A value behind a lock that is not one of the locks under test.
final class Guarded<Value> {
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func with<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

/// A value at a fixed address, as the library keeps its own: for types that cannot be copied and are shared by threads.
final class Pinned<Value: ~Copyable> {
    let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    init(_ value: consuming Value) { pointer.initialize(to: value) }

    deinit {
        pointer.deinitialize(count: 1)
        pointer.deallocate()
    }
}
