import CLinux
import CLinuxKit
import CRunLoop
import CRunLoopKit

/// Opens listening sockets.
enum ListeningSocket {
    /// Opens a TCP socket that listens at the host's first address, or at all addresses if `host` is nil. Returns -1 with errno on failure.
    /// Any thread; may wait for the resolver.
    static func open(_ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?) -> Int32 {
        if host != nil { return open(host, service, AF_UNSPEC) }
        // One socket for both families, unless the system has no IPv6.
        let both = open(nil, service, AF_INET6)
        return both < 0 && (systemError == EAFNOSUPPORT || systemError == EADDRNOTAVAIL) ? open(nil, service, AF_INET) : both
    }

    private static func open(_ host: UnsafePointer<CChar>?, _ service: UnsafePointer<CChar>?, _ family: Int32) -> Int32 {
        var hints = linux_hints(nil)
        hints.ai_flags = AI_PASSIVE
        hints.ai_family = family
        var addresses: UnsafeMutablePointer<addrinfo>?
        let error = linux_find_addresses(host, linux_service(service), &hints, &addresses)
        if error != 0 {
            if error != EAI_SYSTEM { systemError = error == EAI_MEMORY ? ENOMEM : EADDRNOTAVAIL }
            return -1
        }
        guard let first = addresses else { return -1 }
        let descriptor = linux_listen(first.pointee.ai_addr, first.pointee.ai_addrlen)
        preservingSystemError { freeaddrinfo(first) }
        return descriptor
    }

    /// Opens a socket that listens at a path of the file system, or, after "@", at an abstract name. Replaces a socket file at which
    /// nothing listens any more. Returns -1 with errno on failure. Any thread.
    static func open(at path: UnsafePointer<CChar>) -> Int32 {
        var address = sockaddr_un()
        let size = linux_path_address(path, &address)
        if size == 0 {
            systemError = path.pointee == 0 ? ENOENT : ENAMETOOLONG
            return -1
        }
        // An abstract name disappears with its socket, so there is never one to replace.
        if path.pointee == CChar(UInt8(ascii: "@")) { return linux_listen(&address, size) }
        let directory = linux_lock_directory(path)
        defer { if directory >= 0 { preservingSystemError { linux_unlock_directory(directory) } } }
        let descriptor = linux_listen(&address, size)
        if descriptor >= 0 || systemError != EADDRINUSE { return descriptor }
        let file = linux_find_socket_file(path)
        if directory >= 0 && linux_is_abandoned(&address, size) != 0 && linux_remove_socket_file(path, file) != 0 {
            return linux_listen(&address, size)
        }
        systemError = EADDRINUSE
        return -1
    }
}
