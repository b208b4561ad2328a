import Testing

/// Does what `#expect` does, for loops: `#expect` takes many microseconds even on success, because it records the values it has examined.
func expectInLoop(_ isRight: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    if !isRight { Issue.record("not as expected", sourceLocation: sourceLocation) }
}
