import Testing

/// As `#expect`, for loops: that takes many microseconds each time, also where nothing is wrong, as it keeps what it has looked at.
func expectInLoop(_ isRight: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    if !isRight { Issue.record("not as expected", sourceLocation: sourceLocation) }
}
