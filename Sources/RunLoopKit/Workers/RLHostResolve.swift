import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

// include/RunLoopKit/RLHostResolve.h

@implementation @c
public func RLHostResolveCreate(
    _ allocator: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ hints: UnsafePointer<addrinfo>?,
    _ timeout: Double, _ callout: RLHostResolveCallBack?, _ context: UnsafePointer<RLWorkContext>?
) -> OpaquePointer? {
    guard host != nil || service != nil else {
        Misuse.report("RLHostResolveCreate", "host", "NULL, as is service")
        return nil
    }
    guard !timeout.isNaN else {
        Misuse.report("RLHostResolveCreate", "timeout", "not a number")
        return nil
    }
    guard let callout else {
        Misuse.report("RLHostResolveCreate", "callout", expected: "a function", got: "NULL")
        return nil
    }
    guard let client = ClientContext.load(context, "RLHostResolveCreate") else { return nil }
    return HostResolve.create(host, service, hints, timeout, callout, client)
}
