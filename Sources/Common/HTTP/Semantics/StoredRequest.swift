import Backports
import Values

/// A copy of a request's head that outlives the call, for answers made later.
package struct StoredRequest: Sendable {
  private let bytes: [UInt8]
  /// The offsets of its parts.
  package let head: RequestHead
  private let peer: IPAddress

  /// Copies the head of a request.
  package init(_ request: borrowing Request) {
    bytes = request.bytes.withUnsafeBytes { [UInt8]($0) }
    head = request.head
    peer = request.peer
  }

  /// The fields that decide what is answered in place of the whole.
  private static let deciding = Preconditions.conditions | FieldName.ifRange.bit | FieldName.range.bit

  /// Takes the conditions and the range of a request whose fields are text, so that the rules for requests of connections hold
  /// for it; nil if they are longer than a head may be. Every other field, the target and the peer are missing.
  package init?(_ method: Method, _ fields: HTTPFields) {
    var head = RequestHead()
    var bytes: [UInt8] = []
    head.method = method
    for field in fields {
      let start = bytes.count
      bytes.append(contentsOf: field.name.utf8)
      guard let name = FieldName(bytes.span.bytes.extracting(start..<bytes.count)),
        name.bit & Self.deciding != 0
      else {
        bytes.removeSubrange(start...)
        continue
      }
      bytes.append(0x3A)
      let value = bytes.count
      // A line break in a value would begin another field.
      bytes += HTTPField.trimmed(field.value[...]).utf8.map { $0.isControl ? 0x20 : $0 }
      if head.has(name) {
        head.repeated |= name.bit
      } else {
        head.present |= name.bit
        head.fields[Int(name.rawValue)] = ByteSlice(value..<bytes.count)
      }
      bytes += [0x0D, 0x0A]
      guard bytes.count <= UInt16.max else { return nil }
    }
    head.lines = ByteSlice(0..<bytes.count)
    self.bytes = bytes
    self.head = head
    peer = .unknown
  }

  /// The request, valid as long as the copy is retained.
  package var request: Request {
    @_lifetime(borrow self) get { Request(head, in: bytes.span.bytes, from: peer) }
  }
}
