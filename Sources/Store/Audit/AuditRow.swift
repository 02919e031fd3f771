import Manifests
import System

/// Who acts, and from where.
package struct Actor: Hashable, Sendable {
  /// The name of the token that was shown.
  package let name: String
  /// The network address that the request came from; empty where none did.
  package let address: String
  /// Why, where an act has no member of its own for that; the trail tells it.
  package var reason: String?

  /// Someone by name and address.
  package init(name: String, address: String, reason: String? = nil) {
    self.name = name
    self.address = address
    self.reason = reason
  }

  /// Someone with the data folder in hand, or the program itself.
  package static let local = Actor(name: "local", address: "")
}

/// An act that changes something, before it has its place in the trail.
package struct AuditAct: Sendable {
  /// What was done: `publish`, `token.create`, …
  package let name: String
  /// The app that it is about; nil: none, or all.
  package var app: AppName?
  /// The channel that it is about; nil: none, or all.
  package var channel: ChannelName?
  /// What was asked for. Never a token's text.
  package var parameters: JSONValue
  /// What came of it. Never a token's text.
  package var result: JSONValue

  /// An act with what was asked for, and what came of it.
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

/// One row of the trail.
package struct AuditRow: Hashable, Sendable {
  /// Its number: 1, 2, 3, …
  package let id: Int64
  /// Milliseconds since 1970.
  package let at: Int64
  /// Who acted.
  package let author: String
  /// Where from; empty where no network was.
  package let address: String
  /// What was done.
  package let act: String
  /// As in `AuditAct`.
  package let app: String?
  /// As in `AuditAct`.
  package let channel: String?
  /// Canonical JSON, as it was hashed.
  package let parameters: String
  /// The same of what came of it.
  package let result: String
  /// sha256 of the hash before and this row.
  package let hash: SHA256

  /// What the hash is made of, beside the hash before: the row as canonical JSON.
  var hashed: [UInt8] {
    let row: JSONValue = [
      "act": .string(act), "address": .string(address), "app": app.map { .string($0) } ?? .null,
      "at": .integer(at), "author": .string(author), "channel": channel.map { .string($0) } ?? .null,
      "id": .integer(id), "parameters": .string(parameters), "result": .string(result),
    ]
    return row.canonical
  }

  /// The hash that belongs to this row where `before` is that of the row before.
  package func hash(after before: SHA256) -> SHA256 {
    SHA256.of(before.bytes + hashed)
  }
}

/// The newest row of the trail and its hash: whoever keeps it can tell later whether history was changed.
package struct AuditHead: Hashable, Sendable {
  /// The row's number.
  package let row: Int64
  /// Its hash.
  package let hash: SHA256

  /// A row by its number and hash.
  package init(row: Int64, hash: SHA256) {
    self.row = row
    self.hash = hash
  }

  /// The head of an empty trail.
  package static let none = AuditHead(row: 0, hash: SHA256.zero)

  /// `17:ab12…`, as receipts have it.
  package var text: String { "\(row):\(hash.hex)" }

  /// Reads what `text` gives; nil for anything else.
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
  /// 32 zero bytes: what the first row follows.
  static var zero: SHA256 {
    let zeros = [UInt8](repeating: 0, count: byteCount)
    return SHA256(bytes: zeros.span.bytes) ?? SHA256.of([])
  }
}

extension AuditRow {
  /// A row as an export has it: what its hash is made of, and the hash.
  package var json: JSONValue {
    [
      "act": .string(act), "address": .string(address), "app": app.map { .string($0) } ?? .null,
      "at": .integer(at), "author": .string(author), "channel": channel.map { .string($0) } ?? .null,
      "hash": .string(hash.hex), "id": .integer(id), "parameters": .string(parameters),
      "result": .string(result),
    ]
  }

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
