import System
import Testing
import Values

@testable import Origin

/// Requests of the previous version's command line have the same effect as at that version's origin, and the answers have all members that
/// it reads. `Goldens/older-client.txt` has its requests and the answers that it got; it isn't recorded again.
@Suite struct OlderClientTests {
  @Test func requestsAreAnsweredAsBefore() throws {
    let origin = try TestOrigin(publicURL: "https://cdn.example.com")
    let file = DurableFile.parent(of: #filePath) + "/Goldens/older-client.txt"
    let lines = try #require(try DurableFile.read(file)).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count > 50)
    for line in lines {
      let exchange = try JSONValue.parse(Array(line))
      let (method, path) = (try exchange.string("method"), try exchange.string("path"))
      let fields = (exchange["fields"]?.object?.members ?? []).map { "\($0.key): \($0.value.string ?? "")" }
      let body = try exchange.string("body")
      let reply = try origin.ask(
        method, "/api/v1/\(path)", ["Authorization: Bearer \(origin.token)"] + fields,
        body: method == "GET" || method == "DELETE" ? nil : Array(body.utf8))
      #expect(exchange["status"]?.integer == Int64(reply.status), "\(method) \(path): \(reply.text)")
      for lost in Self.lost(of: exchange["answer"] ?? .null, in: reply.json, "") {
        Issue.record("\(method) \(path): \(lost) is missing or of another type: \(reply.text)")
      }
    }
  }

  /// The members of `old` that `new` lacks, or that have another type. Null may become a value, and the reverse.
  private static func lost(of old: JSONValue, in new: JSONValue?, _ path: String) -> [String] {
    switch (old, new) {
    case (.object(let object), .object(let other)?):
      object.members.flatMap { lost(of: $0.value, in: other[$0.key], "\(path)/\($0.key)") }
    case (.array(let values), .array(let others)?):
      values.count == others.count
        ? zip(values, others).flatMap { lost(of: $0, in: $1, "\(path)[]") } : ["\(path): its count"]
    case (.bool, .bool), (.number, .number), (.string, .string), (.null, .some), (_, .null?): []
    default: [path]
    }
  }
}
