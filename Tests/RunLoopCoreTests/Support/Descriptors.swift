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

    /// With the read end at a number of the test's choice.
    convenience init(readEndAt number: Int32) {
        self.init()
        precondition(dup2(readEnd, number) == number)
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

/// A descriptor of /dev/null. open(2) is variadic, and not to be had from Swift.
func openNull() -> Int32 { creat("/dev/null", 0) }

func isOpen(_ fd: Int32) -> Bool { linux_fcntl(fd, F_GETFD, 0) >= 0 }
