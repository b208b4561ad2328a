/// The name of a function or a parameter in diagnostics: the address of a literal. (A StaticString takes three registers, at each of
/// several hundred calls.)
struct Name: ExpressibleByStringLiteral, BitwiseCopyable {
    let text: UnsafePointer<UInt8>

    init(stringLiteral literal: StaticString) { text = literal.utf8Start }

    /// Creates a name from a string literal of C.
    init(_ literal: UnsafePointer<CChar>) { text = UnsafeRawPointer(literal).assumingMemoryBound(to: UInt8.self) }
}
