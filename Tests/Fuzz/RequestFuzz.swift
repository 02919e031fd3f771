// A fuzz target for everything that reads a client's bytes. Built with the sources of HTTP as one module; see run.sh.
//
// The first byte says where the rest is split; the rest is a connection's input: a head and what follows it.
// Beside what the sanitizer finds, it traps when a split changes the result or a path keeps a dot segment.

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 1 else { return 0 }
  let input = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  let split = Int(start[0]) * input.count / 255
  let whole = Exchange(input, splits: [])
  precondition(whole == Exchange(input, splits: [split]), "a split changed the result")
  precondition(whole == Exchange(input, splits: Array(0..<min(input.count, 300))), "byte by byte differs")
  return 0
}

/// What one connection's input comes to.
struct Exchange: Equatable {
  private var outcome = RequestParser.Outcome.incomplete
  private var answer = ""
  private var body: [UInt8] = []
  private var bodyEnd = ""

  private static let limits = RequestLimits(headBytes: 2_000, targetBytes: 300, fieldCount: 20)

  private static let representation = Representation(
    HeadFields([("Content-Type", "text/plain")]), tag: EntityTag("v1"),
    lastModified: LastModified(HTTPDate(784_111_777), now: { 1_795_000_000 }),
    body: .bytes(SharedBytes([UInt8](repeating: 0x61, count: 100))))

  init(_ input: [UInt8], splits: [Int]) {
    var parser = RequestParser()
    for end in splits + [input.count] {
      // Memory of exactly this size: reading past its end is found.
      let arrived = [UInt8](input[..<end])
      outcome = parser.parse(arrived.span.bytes, limits: Exchange.limits)
      if outcome != .incomplete { break }
    }
    guard case .complete(let count) = outcome else { return }
    var head = [UInt8](input[..<count])
    if parser.head.pathNeedsNormalising {
      head.withUnsafeMutableBytes {
        var bytes = $0.mutableBytes
        parser.normalisePath(in: &bytes)
      }
    }
    use(parser.head, head)
    if let framing = BodyFraming(parser.head.bodyLength) {
      decode(framing, [UInt8](input[count...]), splits.map { $0 - count })
    }
  }

  /// Asks everything of a request that a handler could ask.
  private mutating func use(_ head: RequestHead, _ bytes: [UInt8]) {
    let span = bytes.span.bytes
    let proxy = PeerAddress(ipv4: 0x7F00_0001)
    let request = Request(head, in: span, from: proxy)
    if head.method != .other { check(request.path.array) }
    let response = Exchange.representation.response(to: request)
    answer = "\(response.status.code) \(response.body.count)"
    for coding in BodyCoding.allCases { answer += " \(AcceptEncoding(request).weight(coding))" }
    if let trusted = AddressRange("0.0.0.0/0") {
      let client = ForwardedFor.client(of: proxy, request.field(.xForwardedFor), trusted: [trusted])
      answer += " \(client)"
    }
    if let query = request.query {
      var items = QueryItems(query)
      while let item = items.next() {
        answer += " \(item.name.formDecoded?.count ?? -1) \(item.value.formDecodedText ?? "-")"
        answer += " \(item.value.formDecodedDecimal ?? 0)"
      }
    }
    var lines = request.fieldLines
    while let value = lines.next(named: RawSpan("x")) { answer += " \(value.byteCount)" }
  }

  private func check(_ path: [UInt8]) {
    if path == [0x2A] { return }
    precondition(path.first == 0x2F, "a path without a slash")
    for segment in path.split(separator: 0x2F) {
      precondition(!segment.elementsEqual([0x2E]) && !segment.elementsEqual([0x2E, 0x2E]), "a dot segment")
    }
    precondition(!path.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == 0x5C }, "a bad byte in a path")
  }

  private mutating func decode(_ framing: BodyFraming, _ input: [UInt8], _ splits: [Int]) {
    var framing = framing
    var start = 0
    for end in splits.filter({ $0 > 0 && $0 < input.count }) + [input.count] {
      let piece = [UInt8](input[start..<end])
      var index = 0
      while bodyEnd.isEmpty {
        let step = framing.next(piece.span.bytes, from: &index)
        if case .data(let range) = step { body += piece[range] }
        if case .end(let place) = step { bodyEnd = "ends at \(start + place)" }
        if case .malformed = step { bodyEnd = "malformed" }
        if case .more = step { break }
      }
      start = end
    }
  }
}
