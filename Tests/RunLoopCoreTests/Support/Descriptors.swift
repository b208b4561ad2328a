import CLinux

/// A pipe, whose ends are closed at the latest when the object goes.
final class Pipe {
    private(set) var readEnd: Int32 = -1
    private(set) var writeEnd: Int32 = -1

    init() {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0)
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// With the read end at a number of the test's choice, as `duplicate` demands.
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

    /// Takes what `put` has left once.
    func take() {
        var byte: UInt8 = 0
        precondition(read(readEnd, &byte, 1) == 1)
    }
}

/// Opens a file a second time, under a number of the test's choice. A test that closes a number and opens it again needs one that no
/// other test gets meanwhile: they run side by side in one process. From 1001, each test has its own.
@discardableResult
func duplicate(_ file: Int32, as number: Int32) -> Int32 {
    precondition(dup2(file, number) == number)
    return number
}

/// A descriptor of /dev/null. open(2) is variadic, and not to be had from Swift.
func openNull() -> Int32 { creat("/dev/null", 0) }

func isOpen(_ fd: Int32) -> Bool { linux_fcntl(fd, F_GETFD, 0) >= 0 }
