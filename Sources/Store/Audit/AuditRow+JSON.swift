import Manifests
import Platform

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
