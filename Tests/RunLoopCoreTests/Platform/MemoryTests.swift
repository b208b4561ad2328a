import CLinux
import Testing

@testable import RunLoopCore

@Suite struct MemoryTests {
    /// After a huge page that took long, a number of blocks get small pages, and then huge pages are tried again.
    @Test func slowHugePagesAreAvoidedForSomeTime() throws {
        guard lines(of: "/sys/kernel/mm/transparent_hugepage/enabled").contains(where: { $0.contains("[madvise]") }) else { return }
        Memory.noteHugePage(took: 2_000_000)
        var small = 0
        while small < 100, try !isAdvised(#require(Memory.allocate(Memory.hugePage, isZero: false))) { small += 1 }
        // Other tests may use up some of these blocks, or find another huge page slow.
        #expect(small > 0 && small < 100)
    }

    /// Whether the kernel has been advised to use huge pages for the memory at an address: "hg" in its flags in /proc/self/smaps.
    private func isAdvised(_ address: UnsafeMutableRawPointer) -> Bool {
        let address = UInt(bitPattern: address)
        var isInside = false
        for line in lines(of: "/proc/self/smaps") {
            let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            if ends.count == 2 { isInside = ends[0] <= address && address < ends[1] }
            if isInside && line.hasPrefix("VmFlags:") { return line.split(separator: " ").contains("hg") }
        }
        return false
    }

    private func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var lines: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while let read = fgets(&line, Int32(line.count), file) { lines.append(String(cString: read)) }
        return lines
    }
}
