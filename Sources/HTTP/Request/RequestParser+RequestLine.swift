extension RequestParser {
  /// Takes `method SP request-target SP HTTP-version` (RFC 9112 §3).
  mutating func takeRequestLine(
    _ line: Range<Int>, of bytes: RawSpan, _ limits: RequestLimits
  ) throws(RequestError) {
    let text = bytes.extracting(line)
    let index = text.run(of: .token, from: 0)
    guard index > 0, index < text.byteCount, text[index] == 0x20 else { throw .requestLine }
    head.method = Method(text.extracting(0..<index))
    let start = index &+ 1
    guard let end = text.firstIndex(of: 0x20, from: start), end > start else { throw .requestLine }
    guard end &- start <= limits.targetBytes else { throw .targetTooLong }
    try takeVersion(text.extracting((end &+ 1)..<text.byteCount))
    let target = (line.lowerBound &+ start)..<(line.lowerBound &+ end)
    head.target = ByteSlice(target)
    try takeTarget(target, of: bytes)
  }

  private mutating func takeVersion(_ text: RawSpan) throws(RequestError) {
    guard text.byteCount == 8, text.starts(with: "HTTP/"), text[6] == 0x2E else { throw .requestLine }
    let major = text[5] &- 0x30
    let minor = text[7] &- 0x30
    guard major < 10, minor < 10 else { throw .requestLine }
    guard major == 1 else { throw .version }
    head.isHTTP11 = minor > 0
    head.keepAlive = head.isHTTP11
  }

  /// Takes the target in one of its forms: origin, absolute, or `*` for OPTIONS (RFC 9112 §3.2).
  private mutating func takeTarget(_ range: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    if bytes[range.lowerBound] == 0x2F { return try takePath(range, of: bytes) }
    let target = bytes.extracting(range)
    if target.equals("*") {
      guard head.method == .options else { throw .target }
      head.path = ByteSlice(range)
      return
    }
    // CONNECT's authority form: answered 501 as every unknown method, so the target is only kept.
    if head.method == .other {
      head.path = ByteSlice(range)
      return
    }
    try takeAbsolute(range, of: bytes)
  }

  private mutating func takeAbsolute(_ range: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    let target = bytes.extracting(range)
    let scheme: Int
    if target.byteCount > 7, target.extracting(first: 7).equalsIgnoringCase("http://") {
      scheme = 7
    } else if target.byteCount > 8, target.extracting(first: 8).equalsIgnoringCase("https://") {
      scheme = 8
    } else {
      throw .target
    }
    var end = scheme
    while end < target.byteCount, target[end] != 0x2F, target[end] != 0x3F { end &+= 1 }
    let authority = ByteSlice((range.lowerBound &+ scheme)..<(range.lowerBound &+ end))
    guard authority.count > 0, isAuthority(bytes.extracting(authority.range)) else { throw .target }
    head.authority = authority
    // RFC 9112 §3.2.2 with no path: the path is "/", and the "/" that ends the scheme stands for it.
    guard end < target.byteCount, target[end] == 0x2F else {
      let slash = range.lowerBound &+ scheme &- 1
      head.path = ByteSlice(slash..<slash &+ 1)
      if end < target.byteCount {
        try takeQuery((range.lowerBound &+ end)..<range.upperBound, of: bytes)
      }
      return
    }
    try takePath((range.lowerBound &+ end)..<range.upperBound, of: bytes)
  }

  /// Takes `/path?query`, checking each byte and each escape.
  private mutating func takePath(_ range: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    let text = bytes.extracting(range)
    var index = 0
    while index < text.byteCount {
      let byte = text.at(index)
      let kind = ByteClass(byte)
      guard kind.has(.target) else { throw .target }
      if kind.has(.notable) {
        if byte == 0x3F { break }
        try lookAt(byte, index, of: text)
      }
      index &+= 1
    }
    head.path = ByteSlice(range.lowerBound..<range.lowerBound &+ index)
    guard index < text.byteCount else { return }
    try takeQuery((range.lowerBound &+ index)..<range.upperBound, of: bytes)
  }

  /// Checks a byte of a path that may mean more than itself.
  private mutating func lookAt(_ byte: UInt8, _ index: Int, of text: RawSpan) throws(RequestError) {
    switch byte {
    case 0x25:
      guard index &+ 2 < text.byteCount, let high = text[index &+ 1].hexadecimal,
        let low = text[index &+ 2].hexadecimal, high | low != 0
      else { throw .target }
      head.pathNeedsNormalising = true
    case 0x2E:
      if index > 0, text[index &- 1] == 0x2F { head.pathNeedsNormalising = true }
    default:
      throw .target
    }
  }

  /// Takes `?query`.
  private mutating func takeQuery(_ range: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    guard bytes.extracting(range).run(of: .target, from: 0) == range.count else { throw .target }
    head.query = ByteSlice((range.lowerBound &+ 1)..<range.upperBound)
    head.hasQuery = true
  }

  /// Whether `bytes` can name a host and a port, or nothing at all.
  func isAuthority(_ bytes: RawSpan) -> Bool {
    bytes.run(of: .authority, from: 0) == bytes.byteCount
  }
}
