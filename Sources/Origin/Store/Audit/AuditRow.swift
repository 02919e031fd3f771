import Manifests
import System
import Values

/// Who acts, and from where.
package struct Actor: Hashable, Sendable {
  /// The name of the token that was used.
  package let name: String
  /// The network address of the request; empty if it didn't come over a network.
  package let address: String
  /// The reason, for an act without a member of its own for it; it goes into the trail.
  package var reason: String?

  /// Creates an actor.
  package init(name: String, address: String, reason: String? = nil) {
    self.name = name
    self.address = address
    self.reason = reason
  }

  /// Someone with access to the data folder, or the program itself.
  package static let local = Actor(name: "local", address: "")
}

/// An act that changes something, before it becomes a row of the trail.
package struct AuditEvent: Sendable {
  /// The kind of act: `publish`, `token.create`, …
  package let name: String
  /// The app concerned; nil: none, or all.
  package var app: AppName?
  /// The channel concerned; nil: none, or all.
  package var channel: ChannelName?
  /// What was requested. Never a token's text.
  package var parameters: JSONValue
  /// The result. Never a token's text.
  package var result: JSONValue

  /// Creates an act.
  package init(
    _ name: String, app: AppName? = nil, channel: ChannelName? = nil, parameters: JSONValue = [:],
    result: JSONValue = [:]
  ) {
    self.name = name
    self.app = app
    self.channel = channel
    self.parameters = parameters
    self.result = result
  }
}

/// One row of the audit trail.
package struct AuditRow: Hashable, Sendable {
  /// The row's number: 1, 2, 3, …
  package let id: Int64
  /// Milliseconds since 1970.
  package let at: Int64
  /// Who acted.
  package let author: String
  /// The network address; empty if the act didn't come over a network.
  package let address: String
  /// The kind of act.
  package let act: String
  /// As in `AuditEvent`.
  package let app: String?
  /// As in `AuditEvent`.
  package let channel: String?
  /// What was requested, as the canonical JSON that was hashed.
  package let parameters: String
  /// The result, as the canonical JSON that was hashed.
  package let result: String
  /// The SHA-256 of the previous row's hash and this row.
  package let hash: SHA256

  /// The receipt of whoever made the act.
  package var receipt: AuditHead { AuditHead(row: id, hash: hash) }

  /// What is hashed besides the previous hash: the row as canonical JSON.
  var hashed: [UInt8] {
    let row: JSONValue = [
      "act": .string(act), "address": .string(address), "app": app.map { .string($0) } ?? .null,
      "at": .integer(at), "author": .string(author), "channel": channel.map { .string($0) } ?? .null,
      "id": .integer(id), "parameters": .string(parameters), "result": .string(result),
    ]
    return row.canonical
  }

  /// The hash of this row if `before` is that of the previous row.
  package func hash(after before: SHA256) -> SHA256 {
    SHA256.of(before.bytes + hashed)
  }
}

/// The newest row of the trail and its hash. Whoever keeps it can tell later whether history was changed.
package struct AuditHead: Hashable, Sendable {
  /// The row's number.
  package let row: Int64
  /// Its hash.
  package let hash: SHA256

  /// Creates a head.
  package init(row: Int64, hash: SHA256) {
    self.row = row
    self.hash = hash
  }

  /// The head of an empty trail.
  package static let none = AuditHead(row: 0, hash: SHA256.zero)

  /// The form that receipts have: `17:ab12…`.
  package var text: String { "\(row):\(hash.hex)" }

  /// Parses a receipt; nil for any other text.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let row = Int64(parts[0]), (1..<1 << 53).contains(row),
      let hash = SHA256(hex: parts[1])
    else {
      return nil
    }
    self.init(row: row, hash: hash)
  }
}

extension SHA256 {
  /// 32 zero bytes: the hash before the first row.
  static var zero: SHA256 {
    let zeros = [UInt8](repeating: 0, count: byteCount)
    return SHA256(bytes: zeros.span.bytes) ?? SHA256.of([])
  }
}

extension AuditRow {
  /// The row as exported: what is hashed, and the hash.
  package var json: JSONValue {
    [
      "act": .string(act), "address": .string(address), "app": app.map { .string($0) } ?? .null,
      "at": .integer(at), "author": .string(author), "channel": channel.map { .string($0) } ?? .null,
      "hash": .string(hash.hex), "id": .integer(id), "parameters": .string(parameters),
      "result": .string(result),
    ]
  }

  /// Parses an exported row.
  /// - Throws: `member`, naming what is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    guard let id = json["id"]?.integer else { throw .member("id") }
    guard let at = json["at"]?.integer else { throw .member("at") }
    self.init(
      id: id, at: at, author: try json.string("author"), address: try json.string("address"),
      act: try json.string("act"), app: json["app"]?.string, channel: json["channel"]?.string,
      parameters: try json.string("parameters"), result: try json.string("result"),
      hash: try json.sha256("hash"))
  }
}
