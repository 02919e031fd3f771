extension JSONReader {
  /// Passes over the next value, of any kind, building nothing: memory doesn't grow with it.
  ///
  /// It must be JSON all the same. Only keys that an object has twice aren't noticed.
  package mutating func skip() throws(JSONError) {
    switch try peek() {
    case UInt8(ascii: "{"):
      try open(UInt8(ascii: "{"))
      if try close(UInt8(ascii: "}")) { return }
      repeat {
        try skipString()
        try expect(UInt8(ascii: ":"))
        try skip()
      } while try more(UInt8(ascii: "}"))
    case UInt8(ascii: "["):
      try open(UInt8(ascii: "["))
      if try close(UInt8(ascii: "]")) { return }
      repeat { try skip() } while try more(UInt8(ascii: "]"))
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): _ = try word("true", .null)
    case UInt8(ascii: "f"): _ = try word("false", .null)
    case UInt8(ascii: "n"): _ = try word("null", .null)
    default: _ = try digits()
    }
  }

  private mutating func skipString() throws(JSONError) {
    try expect(UInt8(ascii: "\""))
    let start = at
    var isASCII = true
    var run = start
    var escaped: [UInt8] = []
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        if !isASCII { try checkText(run..<at, of: start) }
        at += 1
        return
      case UInt8(ascii: "\\"):
        if !isASCII { try checkText(run..<at, of: start) }
        at += 1
        escaped.removeAll(keepingCapacity: true)
        try appendEscaped(to: &escaped)
        (run, isASCII) = (at, true)
      case 0..<0x20: throw .unexpected(at: at)
      case 0x80...:
        isASCII = false
        at += 1
      default: at += 1
      }
    }
    throw .ended
  }

  /// Checks that bytes are UTF-8, a few thousand at a time.
  private func checkText(_ range: Range<Int>, of start: Int) throws(JSONError) {
    var rest = range
    while !rest.isEmpty {
      var end = min(rest.lowerBound + 4096, rest.upperBound)
      // Not within a character, which has three continuation bytes at most.
      for _ in 0..<3 where end < rest.upperBound && bytes[end] & 0xC0 == 0x80 { end -= 1 }
      guard String(validating: bytes[rest.lowerBound..<end], as: UTF8.self) != nil else {
        throw .encoding(at: start)
      }
      rest = end..<rest.upperBound
    }
  }
}
