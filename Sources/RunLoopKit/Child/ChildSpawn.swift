import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// Starts a program as the client's options say.
struct ChildSpawn {
    private let options: RLChildSpawnOptions

    /// Copies the options. nil, after one diagnostic, if they are invalid.
    init?(_ options: UnsafePointer<RLChildSpawnOptions>?, _ function: Name) {
        guard let options = options?.pointee else {
            Misuse.report(function, "options", expected: "options", got: "NULL")
            return nil
        }
        if let problem = Self.problem(options) {
            Misuse.report(function, "options", problem)
            return nil
        }
        self.options = options
    }

    private static func problem(_ options: RLChildSpawnOptions) -> Name? {
        let flags = UInt(kRLChildSearchPath | kRLChildNewProcessGroup | kRLChildNewSession)
        let lowest = Int32(kRLChildNull)
        if options.version != 0 { return "version must be 0" }
        if options.program == nil { return "program is NULL" }
        if options.arguments == nil { return "arguments is NULL" }
        if options.flags & ~flags != 0 { return "unknown flag" }
        if options.input < lowest { return "input is neither a descriptor nor a kRLChild constant" }
        if options.output < lowest { return "output is neither a descriptor nor a kRLChild constant" }
        if options.error < Int32(kRLChildOutput) { return "error is neither a descriptor nor a kRLChild constant" }
        return nil
    }

    /// Starts the program and attaches the child and its pipes to the object. Throws if the program does not run. Any thread.
    func start(_ child: ChildPointer) throws(SystemError) {
        let input = try ChildDescriptor(0, options.input, child.pointee.pipes)
        let output = try ChildDescriptor(1, options.output, child.pointee.pipes)
        let error = try ChildDescriptor(2, options.error, child.pointee.pipes)
        // A pipe reserves two descriptor numbers, for the child's pidfd and the epoll that watches it, so that a shortage usually shows
        // before the program is started. Another thread may still take the numbers after they are closed below.
        let reserved = try ChildDescriptor.makePipe()
        var process: Int32 = 0
        var sources = (input.source, output.source, error.source)
        let problem = withUnsafeBytes(of: &sources) { sources in
            linux_spawn(
                &process, options.program, options.arguments, options.environment, options.directory, Int32(options.flags),
                sources.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: Int32.self))
        }
        linux_close(reserved.read)
        linux_close(reserved.write)
        if problem != 0 { throw SystemError.make(problem) }
        do throws(SystemError) {
            try child.attach(process)
        } catch {
            if error.number == ESRCH || error.number == ECHILD { return try child.attachLost(process) }
            preservingSystemError { linux_kill_child(process) }
            throw error
        }
    }
}
