import CLinux

/// A pipe whose ends are closed when the object is deinitialized, if not earlier.
final class Pipe {
    private(set) var readEnd: Int32 = -1
    private(set) var writeEnd: Int32 = -1

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0)
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// Creates a pipe whose read end has a number of the test's choice; see `duplicate`.
    convenience init(readEndAt number: Int32) {
        self.init()
        duplicate(readEnd, as: number)
        close(readEnd)
        readEnd = number
    }

    deinit {
        closeReadEnd()
        closeWriteEnd()
    }

    func closeReadEnd() {
        if readEnd >= 0 { close(readEnd) }
        readEnd = -1
    }

    func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    func put() {
        var byte: UInt8 = 1
        precondition(write(writeEnd, &byte, 1) == 1)
    }

    /// Reads what one `put` has written.
    func take() {
        var byte: UInt8 = 0
        precondition(read(readEnd, &byte, 1) == 1)
    }
}

/// Opens a file again under a number of the test's choice. A test that closes a number and reopens it needs one that no other test gets in
/// the meantime, since tests run side by side in one process. From 1001 on, each test has its own numbers.
@discardableResult
func duplicate(_ file: Int32, as number: Int32) -> Int32 {
    precondition(dup2(file, number) == number)
    return number
}

/// Opens /dev/null. Swift cannot call open(2), because it is variadic.
func openNull() -> Int32 { creat("/dev/null", 0) }

func isOpen(_ fd: Int32) -> Bool { linux_fcntl(fd, F_GETFD, 0) >= 0 }
