extension RequestParser {
  /// Takes one header line: `field-name ":" OWS field-value OWS` (RFC 9112 §5).
  mutating func takeField(_ line: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    var colon = line.lowerBound
    while colon < line.upperBound, bytes[colon].isToken { colon &+= 1 }
    guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == 0x3A else { throw .field }
    var start = colon &+ 1
    var end = line.upperBound
    try checkValue(bytes.extracting(start..<end))
    while start < end, bytes[start].isBlank { start &+= 1 }
    while end > start, bytes[end &- 1].isBlank { end &-= 1 }
    guard let name = FieldName(bytes.extracting(line.lowerBound..<colon)) else { return }
    try note(name, ByteSlice(start..<end), of: bytes)
  }

  /// Refuses CR, NUL and the other control bytes but tab; bytes above 0x7F are opaque (RFC 9110 §5.5).
  private func checkValue(_ value: RawSpan) throws(RequestError) {
    var index = 0
    while index &+ 8 <= value.byteCount {
      let word = value.word(at: index)
      // Marks bytes below 0x20 and 0x7F; a false mark costs the slow look below, a miss can't happen.
      let below = (word &- 0x2020_2020_2020_2020) & ~word
      let delete = ((word ^ 0x7F7F_7F7F_7F7F_7F7F) &- 0x0101_0101_0101_0101) & ~word
      if (below | delete) & 0x8080_8080_8080_8080 != 0 {
        for byte in index..<index &+ 8 { try checkByte(value[byte]) }
      }
      index &+= 8
    }
    while index < value.byteCount {
      try checkByte(value[index])
      index &+= 1
    }
  }

  @inline(__always)
  private func checkByte(_ byte: UInt8) throws(RequestError) {
    if byte >= 0x20, byte != 0x7F { return }
    if byte == 0x0D { throw .lineEnd }
    guard byte == 0x09 else { throw .field }
  }

  private mutating func note(_ name: FieldName, _ value: ByteSlice, of bytes: RawSpan) throws(RequestError) {
    let index = Int(name.rawValue)
    if head.fields[index].isAbsent {
      head.fields[index] = value
    } else {
      head.repeated |= 1 &<< UInt32(name.rawValue)
    }
    if name == .connection { takeConnection(bytes.extracting(value.range)) }
  }

  /// Takes `close` and `keep-alive` from a list of connection options; `close` wins (RFC 9112 §9.3).
  private mutating func takeConnection(_ value: RawSpan) {
    var items = ListItems(value)
    while let item = items.next() {
      if item.equalsIgnoringCase("close") {
        closes = true
      } else if item.equalsIgnoringCase("keep-alive") {
        head.keepAlive = true
      }
    }
  }

  /// Draws the conclusions that need every field: host, body length, expectation.
  mutating func finish(_ bytes: RawSpan) throws(RequestError) {
    if closes { head.keepAlive = false }
    try finishHost(bytes)
    try finishLength(bytes)
    if head.isRepeated(.authorization) { throw .repeatedField }
    guard head.has(.expect), head.isHTTP11 else { return }
    guard !head.isRepeated(.expect), value(.expect, of: bytes).equalsIgnoringCase("100-continue") else {
      throw .expectation
    }
    head.expectsContinue = true
  }

  /// RFC 9112 §3.2: 400 for an HTTP/1.1 request without Host, with two, or with an invalid one.
  private mutating func finishHost(_ bytes: RawSpan) throws(RequestError) {
    guard head.has(.host) else {
      if head.isHTTP11 { throw .host }
      return
    }
    if head.isRepeated(.host) || !isAuthority(value(.host, of: bytes)) { throw .host }
    // §3.2.2: with an absolute target the Host field is ignored.
    if head.authority.isAbsent { head.authority = head.fields[Int(FieldName.host.rawValue)] }
  }

  /// RFC 9112 §6.1 to §6.3, refusing whatever two readers could frame differently.
  private mutating func finishLength(_ bytes: RawSpan) throws(RequestError) {
    if head.has(.transferEncoding) {
      if head.has(.contentLength) || head.isRepeated(.transferEncoding) || !head.isHTTP11 { throw .framing }
      let coding = value(.transferEncoding, of: bytes)
      if coding.equalsIgnoringCase("chunked") {
        head.bodyLength = .chunked
        return
      }
      // §6.3: chunked must be the final coding of a request, else the body has no end: 400.
      var items = ListItems(coding)
      var lastIsChunked = false
      while let item = items.next() { lastIsChunked = item.equalsIgnoringCase("chunked") }
      throw lastIsChunked ? .transferCoding : .framing
    }
    guard head.has(.contentLength) else { return }
    guard !head.isRepeated(.contentLength), let length = value(.contentLength, of: bytes).decimal,
      length <= UInt64(Int64.max)
    else { throw .framing }
    head.bodyLength = length == 0 ? .none : .length(length)
  }

  @_lifetime(copy bytes)
  private func value(_ name: FieldName, of bytes: RawSpan) -> RawSpan {
    bytes.extracting(head.fields[Int(name.rawValue)].range)
  }
}
