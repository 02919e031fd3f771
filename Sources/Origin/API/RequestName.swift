import HTTP
import System

/// What a sender calls one act (Idempotency-Key), and which request it said it of.
struct RequestName: Sendable {
  let key: String
  /// Method, path and query, as they were sent.
  private let target: [UInt8]
  /// There is a second key: which one is meant nobody knows.
  private let isRepeated: Bool

  /// Nil where the request has no key.
  init?(_ request: borrowing Request) {
    var lines = request.fieldLines
    let name = RawSpan("idempotency-key")
    guard let key = lines.next(named: name) else { return nil }
    self.key = key.text
    isRepeated = lines.next(named: name) != nil
    var target = Array("\(request.method.name) ".utf8)
    request.path.withUnsafeBytes { target.append(contentsOf: $0) }
    if let query = request.query {
      target.append(UInt8(ascii: "?"))
      query.withUnsafeBytes { target.append(contentsOf: $0) }
    }
    self.target = target
  }

  var isWellFormed: Bool {
    !isRepeated && (16...128).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// sha256 of everything that makes it this request and no other.
  func digest(of rights: String, body: SHA256) -> SHA256 {
    var bytes = target
    bytes.append(0)
    bytes.append(contentsOf: rights.utf8)
    bytes.append(0)
    bytes.append(contentsOf: body.bytes)
    return SHA256.of(bytes)
  }
}
