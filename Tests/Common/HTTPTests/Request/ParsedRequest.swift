import HTTP

/// A parsed request as a text that tests can compare.
enum ParsedRequest {
  /// Parses `bytes`, which arrive in pieces that end at `splits`, and describes the result.
  static func describe(
    _ bytes: [UInt8], splits: [Int] = [], limits: RequestLimits = RequestLimits()
  ) -> String {
    var parser = RequestParser()
    for end in splits + [bytes.count] {
      // A buffer of exactly the bytes that have arrived: reading beyond them traps.
      let arrived = [UInt8](bytes[..<end])
      switch parser.parse(arrived.span.bytes, limits: limits) {
      case .incomplete: continue
      case .failed(let error): return "failed \(error)"
      case .complete(let count): return describe(parser.head, count, arrived)
      }
    }
    return "incomplete"
  }

  static func describe(_ text: String) -> String { describe([UInt8](text.utf8)) }

  private static func describe(_ parsed: RequestHead, _ count: Int, _ bytes: [UInt8]) -> String {
    var head = parsed
    var storage = bytes
    if head.pathNeedsNormalising {
      storage.withUnsafeMutableBytes {
        var span = $0.mutableBytes
        head.path = PathNormaliser.normalise(&span, head.path)
      }
    }
    let span = storage.span.bytes
    let request = Request(head, in: span, from: .unknown)
    var text = "\(head.method) \(request.path.text)"
    if let query = request.query { text += " ?\(query.text)" }
    if let authority = request.authority { text += " @\(authority.text)" }
    text += " 1.\(head.isHTTP11 ? 1 : 0) \(head.keepAlive ? "keep" : "close") \(head.bodyLength)"
    if head.expectsContinue { text += " expect" }
    for name in FieldName.allCases where name != .host {
      if let value = request.field(name) { text += " \(name)=[\(value.text)]" }
    }
    return text + " #\(count)"
  }
}
