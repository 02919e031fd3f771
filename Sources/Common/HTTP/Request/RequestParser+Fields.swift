extension RequestParser {
  /// Parses one header line: `field-name ":" OWS field-value OWS` (RFC 9112 §5).
  mutating func takeField(_ line: Range<Int>, of bytes: RawSpan) throws(RequestError) {
    let text = bytes.extracting(line)
    guard let colon = text.firstIndex(of: 0x3A) else { throw .field }
    let name = text.extracting(0..<colon)
    guard let known = FieldName(name) else {
      guard colon > 0, name.run(of: .token, from: 0) == colon else { throw .field }
      return
    }
    var start = colon &+ 1
    var end = text.byteCount
    while start < end, text.unsafeByte(at: start).isBlank { start &+= 1 }
    while end > start, text.unsafeByte(at: end &- 1).isBlank { end &-= 1 }
    note(known, ByteSlice((line.lowerBound &+ start)..<(line.lowerBound &+ end)), of: bytes)
  }

  private mutating func note(_ name: FieldName, _ value: ByteSlice, of bytes: RawSpan) {
    if head.present & name.bit == 0 {
      head.present |= name.bit
      head.fields[Int(name.rawValue)] = value
    } else {
      head.repeated |= name.bit
    }
    if name == .connection { takeConnection(bytes.extracting(value.range)) }
  }

  /// Parses `close` and `keep-alive` in a list of connection options; `close` wins (RFC 9112 §9.3).
  private mutating func takeConnection(_ value: RawSpan) {
    if value.equalsIgnoringCase("keep-alive") { return head.keepAlive = true }
    var items = ListItems(value)
    while let item = items.next() {
      if item.equalsIgnoringCase("close") {
        closes = true
      } else if item.equalsIgnoringCase("keep-alive") {
        head.keepAlive = true
      }
    }
  }

  /// Checks what depends on several fields: host, body length, expectation.
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
    let host = head.fields[Int(FieldName.host.rawValue)]
    if head.isRepeated(.host) || !isAuthority(bytes.extracting(host.range)) { throw .host }
    // §3.2.2: with an absolute target the Host field is ignored.
    if head.authority.isAbsent { head.authority = host }
  }

  /// RFC 9112 §6.1 to §6.3, refusing everything that two readers could frame differently.
  private mutating func finishLength(_ bytes: RawSpan) throws(RequestError) {
    if head.has(.transferEncoding) {
      if head.has(.contentLength) || head.isRepeated(.transferEncoding) || !head.isHTTP11 { throw .framing }
      let coding = value(.transferEncoding, of: bytes)
      if coding.equalsIgnoringCase("chunked") {
        head.bodyLength = .chunked
        return
      }
      // §6.3: chunked must be the final coding of a request, else the end of the body is unknown: 400.
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
