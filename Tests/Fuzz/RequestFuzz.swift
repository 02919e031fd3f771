import Values

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
  let conversation = Conversation(input, splits: [])
  precondition(conversation == Conversation(input, splits: [split]), "a split changed what a connection does")
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
    let proxy = IPAddress(v4: 0x7F00_0001)
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

/// What one connection does with its input, driven to the end by a client that sends it in pieces and closes.
struct Conversation: Equatable {
  private var done: [String] = []
  private var body: [UInt8] = []

  private static let rules = ConnectionRules(
    request: RequestLimits(headBytes: 2_000, targetBytes: 300, fieldCount: 20), requests: 5,
    discardedBody: 200)

  init(_ input: [UInt8], splits: [Int]) {
    var connection = HTTPConnection(Conversation.rules, 0)
    var workspace = ConnectionWorkspace()
    var start = 0
    var kept: [UInt8] = []
    for end in splits + [input.count] {
      workspace.input.restore(kept)
      connection.becameReadable()
      var wire = input[start..<max(start, end)]
      start = max(start, end)
      guard run(&connection, &workspace, &wire) else { return }
      kept = workspace.input.takeAll()
    }
    workspace.input.restore(kept)
    connection.peerFinished()
    connection.inputEnded()
    var none = input[0..<0]
    if run(&connection, &workspace, &none) { done.append("waits") }
  }

  /// Does what is to be done, until the connection waits; false when it is closed.
  private mutating func run(
    _ connection: inout HTTPConnection, _ workspace: inout ConnectionWorkspace,
    _ wire: inout ArraySlice<UInt8>
  ) -> Bool {
    for _ in 0..<20_000 {
      switch connection.next(&workspace, 0) {
      case .handshake: fatalError("a connection without TLS asks for a handshake")
      case .read:
        let space = workspace.input.space()
        let count = take(&wire, into: space)
        guard count > 0 else {
          connection.nothingToRead()
          continue
        }
        workspace.input.append(count)
        connection.received(count, filled: count == space.count, 0)
      case .readBody(let count):
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { space.deallocate() }
        let count = take(&wire, into: space)
        guard count > 0 else {
          connection.nothingToRead()
          continue
        }
        body += space[..<count]
        connection.receivedBody(count, filled: count == space.count, 0)
      case .dispatch(let head):
        // Empty lines in front may have been taken before.
        let bytes = workspace.input.memory(head).drop { $0 == 0x0D || $0 == 0x0A }
        done.append(String(decoding: bytes, as: UTF8.self))
        if workspace.parser.head.method == .put {
          if connection.receiveBody(limit: 1_000, 0) { continue }
        }
        answer(&connection, "answered", closing: workspace.parser.head.method == .put)
      case .refuse(let status): answer(&connection, "refused \(status.code)", closing: true)
      case .abandonBody(let status):
        body = []
        answer(&connection, "abandoned \(status.code)", closing: true)
      case .store(let bytes): body += workspace.input.memory(bytes)
      case .deliver(let last):
        if last { answer(&connection, "received \(body)") } else { connection.delivered(0) }
        if last { body = [] }
      case .sendContinue: connection.wrote(25)
      case .flush:
        connection.sent(Int(connection.unsent))
        _ = connection.flushed(0, unacknowledged: 0)
      case .leave: connection.leave(unacknowledged: 0)
      case .shutdownSending:
        connection.sendingEnded(unacknowledged: 0, 0)
      case .close:
        body = []
        return false
      case .wait: return true
      }
    }
    preconditionFailure("the connection never waits")
  }

  private func take(_ wire: inout ArraySlice<UInt8>, into space: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(wire.count, space.count)
    space.copyBytes(from: wire.prefix(count))
    wire.removeFirst(count)
    return count
  }

  private mutating func answer(_ connection: inout HTTPConnection, _ words: String, closing: Bool = false) {
    done.append(words)
    _ = connection.answer(closing: closing, 0)
    connection.wrote(10)
  }
}
