import Values

extension RequestParser {
  /// Parses `method SP request-target SP HTTP-version` (RFC 9112 §3).
  mutating func takeRequestLine(
    _ line: Range<Int>, of bytes: RawSpan, _ limits: RequestLimits
  ) throws(RequestError) {
    let text = bytes.extracting(line)
    var index = 3
    // Nearly every request begins with GET.
    if text.byteCount > 8, text.unsafeWord(at: 0) & 0xFFFF_FFFF == 0x2054_4547 /* "GET " */ {
      head.method = .get
    } else {
      index = text.run(of: .token, from: 0)
      guard index > 0, index < text.byteCount, text[index] == 0x20 else { throw .requestLine }
      head.method = Method(text.extracting(0..<index))
    }
    let start = line.lowerBound &+ index &+ 1
    // The run ends at the line's CR at the latest.
    var end = bytes.endOfTarget(from: start)
    let isClean = end < bytes.byteCount && bytes.unsafeByte(at: end) == 0x20
    if !isClean {
      guard let blank = text.firstIndex(of: 0x20, from: index &+ 1) else { throw .requestLine }
      end = line.lowerBound &+ blank
    }
    guard end > start else { throw .requestLine }
    guard end &- start <= limits.targetBytes else { throw .targetTooLong }
    try takeVersion(bytes.extracting((end &+ 1)..<line.upperBound))
    head.target = ByteSlice(start..<end)
    try takeTarget(start..<end, of: bytes, isClean: isClean, limits)
  }

  private mutating func takeVersion(_ text: RawSpan) throws(RequestError) {
    if text.byteCount == 8, text.unsafeWord(at: 0) == 0x312E_312F_5054_5448 /* "HTTP/1.1" */ {
      head.isHTTP11 = true
      head.keepAlive = true
      return
    }
    guard text.byteCount == 8, text.starts(with: "HTTP/"), text[6] == 0x2E else { throw .requestLine }
    let major = text[5] &- 0x30
    let minor = text[7] &- 0x30
    guard major < 10, minor < 10 else { throw .requestLine }
    guard major == 1 else { throw .version }
    head.isHTTP11 = minor > 0
    head.keepAlive = head.isHTTP11
  }

  /// Parses the target in one of its forms: origin, absolute, or `*` for OPTIONS (RFC 9112 §3.2). `isClean` says that all of
  /// its bytes are allowed in a target.
  private mutating func takeTarget(
    _ range: Range<Int>, of bytes: RawSpan, isClean: Bool, _ limits: RequestLimits
  ) throws(RequestError) {
    if bytes[range.lowerBound] == 0x2F {
      guard isClean else { throw .target }
      return try takePath(range, of: bytes, limits)
    }
    let target = bytes.extracting(range)
    if target.equals("*") {
      guard head.method == .options else { throw .target }
      head.path = ByteSlice(range)
      return
    }
    // CONNECT's authority form: answered with 501 like every unknown method, so the target is only stored.
    if head.method == .other {
      head.path = ByteSlice(range)
      return
    }
    guard isClean else { throw .target }
    try takeAbsolute(range, of: bytes, limits)
  }

  private mutating func takeAbsolute(
    _ range: Range<Int>, of bytes: RawSpan, _ limits: RequestLimits
  ) throws(RequestError) {
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
    // RFC 9112 §3.2.2: without a path, the path is "/"; the last slash of "://" stands for it.
    guard end < target.byteCount, target[end] == 0x2F else {
      let slash = range.lowerBound &+ scheme &- 1
      head.path = ByteSlice(slash..<slash &+ 1)
      if end < target.byteCount {
        takeQuery((range.lowerBound &+ end)..<range.upperBound)
      }
      return
    }
    try takePath((range.lowerBound &+ end)..<range.upperBound, of: bytes, limits)
  }

  /// Parses `/path?query`, whose bytes are all allowed in a target, and checks each escape of the path.
  private mutating func takePath(
    _ range: Range<Int>, of bytes: RawSpan, _ limits: RequestLimits
  ) throws(RequestError) {
    var index = bytes.firstNotable(from: range.lowerBound)
    while index < range.upperBound, bytes.unsafeByte(at: index) != 0x3F {
      try checkNotable(index, of: bytes, end: range.upperBound, limits)
      index = bytes.firstNotable(from: index &+ 1)
    }
    index = min(index, range.upperBound)
    head.path = ByteSlice(range.lowerBound..<index)
    if index < range.upperBound { takeQuery(index..<range.upperBound) }
  }

  /// Checks a byte of a path that can have a special meaning.
  private mutating func checkNotable(
    _ index: Int, of bytes: RawSpan, end: Int, _ limits: RequestLimits
  ) throws(RequestError) {
    switch bytes.unsafeByte(at: index) {
    case 0x25:
      let isEscape =
        index &+ 2 < end && bytes[index &+ 1].hexadecimal != nil && bytes[index &+ 2].hexadecimal != nil
        && (bytes[index &+ 1] != 0x30 || bytes[index &+ 2] != 0x30)
      guard isEscape || limits.takesAnyPercent else { throw .target }
      head.pathNeedsNormalising = true
    case 0x2E:
      if index > 0, bytes[index &- 1] == 0x2F { head.pathNeedsNormalising = true }
    default:
      throw .target
    }
  }

  /// Stores `?query`.
  private mutating func takeQuery(_ range: Range<Int>) {
    head.query = ByteSlice((range.lowerBound &+ 1)..<range.upperBound)
    head.hasQuery = true
  }

  /// Whether `bytes` are `host [":" port]`, or nothing at all (RFC 9110 §7.2, RFC 3986 §3.2.2, without IPvFuture).
  func isAuthority(_ bytes: RawSpan) -> Bool {
    let end = bytes.run(of: .unreserved, from: 0)
    if end == bytes.byteCount { return true }
    // Nearly every host is such a name.
    if end > 0, bytes[end] == 0x3A { return isPort(bytes, from: end &+ 1) }
    guard let end = endOfHost(bytes), end > 0 else { return false }
    return end == bytes.byteCount || bytes[end] == 0x3A && isPort(bytes, from: end &+ 1)
  }

  /// Returns where a host ends that may have escapes, sub-delimiters, or an IPv6 address in brackets.
  private func endOfHost(_ bytes: RawSpan) -> Int? {
    if bytes[0] == 0x5B {
      guard let close = bytes.firstIndex(of: 0x5D, from: 1) else { return nil }
      let address = bytes.extracting(1..<close)
      return address.firstIndex(of: 0x3A) != nil && IPAddress(address) != nil ? close &+ 1 : nil
    }
    var index = 0
    while index < bytes.byteCount, bytes[index] != 0x3A {
      let byte = bytes[index]
      guard ByteClass(byte).has(.authority), byte != 0x5B, byte != 0x5D else { return nil }
      if byte == 0x25 {
        guard index &+ 2 < bytes.byteCount, bytes[index &+ 1].hexadecimal != nil,
          bytes[index &+ 2].hexadecimal != nil
        else { return nil }
        index &+= 2
      }
      index &+= 1
    }
    return index
  }

  /// Whether the bytes from `start` on are a port: digits up to 65535, or nothing.
  private func isPort(_ bytes: RawSpan, from start: Int) -> Bool {
    var start = start
    while start < bytes.byteCount, bytes[start] == 0x30 { start &+= 1 }
    guard bytes.byteCount &- start <= 5 else { return false }
    var port = 0
    for index in start..<bytes.byteCount {
      let digit = bytes[index] &- 0x30
      guard digit < 10 else { return false }
      port = port &* 10 &+ Int(digit)
    }
    return port <= 65_535
  }
}
