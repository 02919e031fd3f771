import Glibc
import System
import Testing
import Values

@testable import Origin

/// Requests to the API and their answers, compared with a golden file; XCACHE_RECORD=1 writes it again. Clients depend on the keys in these
/// answers: a golden file that changes is a change of the API.
final class WireGolden {
  let origin: TestOrigin
  private let now: Locked<Int64>
  private let varying: Set<String>
  private var text = ""

  /// - Parameter varying: the keys of members whose values differ from run to run; only their shape is compared.
  init(
    varying: Set<String> = ["id", "milliseconds", "origin", "receipt"],
    _ change: (inout Origin.Options) -> Void = { _ in }
  ) throws {
    let now = Locked<Int64>(1_763_500_000_000)
    self.now = now
    self.varying = varying
    origin = try TestOrigin(
      { options in
        options.deltaWait = 60
        change(&options)
      }, clock: { now.withLock { $0 } })
  }

  /// Sends a request, a minute after the previous one, and records both request and answer.
  ///
  /// - Parameter shown: the recorded path, if the path has parts that vary.
  @discardableResult
  func ask(
    _ method: String, _ path: String, _ body: JSONValue? = nil, token: String? = nil, as shown: String? = nil
  ) throws -> JSONValue {
    let sent = body.map { " " + Self.text(masked($0)) } ?? ""
    return try note(
      "\(method) \(shown ?? path)\(sent)", try origin.api(method, path, body, token: token))
  }

  /// The same with a body that isn't JSON, and additional headers.
  @discardableResult
  func send(_ method: String, _ path: String, _ fields: [String] = [], body: [UInt8], as shown: String) throws
    -> JSONValue
  {
    let lines = ["Authorization: Bearer \(origin.token)"] + fields
    return try note(
      "\(method) \(path) \(shown)", try origin.ask(method, "/api/v1/\(path)", lines, body: body))
  }

  private func note(_ request: String, _ reply: TestOrigin.Reply) throws -> JSONValue {
    let json = try JSONValue.parse(reply.body)
    #expect(json.canonical == reply.body, "\(request)")
    text += "\(request)\n\(reply.status) \(Self.text(masked(json)))\n"
    now.withLock { $0 += 60_000 }
    return json
  }

  /// Compares the record with `Goldens/NAME.txt`, line by line.
  func check(_ name: String, source: SourceLocation = #_sourceLocation) throws {
    let file = DurableFile.parent(of: #filePath) + "/Goldens/\(name).txt"
    if getenv("XCACHE_RECORD") != nil { try DurableFile.write(Array(text.utf8), to: file) }
    let recorded = String(decoding: try DurableFile.read(file) ?? [], as: UTF8.self)
    let (new, old) = (Self.lines(text), Self.lines(recorded))
    for (index, line) in new.enumerated() where index >= old.count || old[index] != line {
      let before = index < old.count ? old[index] : "nothing"
      Issue.record(
        "\(name).txt:\(index + 1), \(new[index & ~1])\n  was \(before)\n  is  \(line)\nXCACHE_RECORD=1 records it anew",
        sourceLocation: source)
    }
    #expect(new.count >= old.count, "requests of \(name).txt aren't made any more", sourceLocation: source)
  }

  private static func text(_ json: JSONValue) -> String { String(decoding: json.canonical, as: UTF8.self) }

  private static func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

  private func masked(_ json: JSONValue) -> JSONValue {
    switch json {
    case .array(let values): .array(values.map(masked))
    case .object(let object):
      .object(
        JSONObject(
          object.members.map {
            .init(key: $0.key, value: varying.contains($0.key) ? Self.shape($0.value) : masked($0.value))
          }))
    default: json
    }
  }

  /// The shape of a value: letters, digits, `-` and `_` become `x`.
  private static func shape(_ json: JSONValue) -> JSONValue {
    switch json {
    case .string(let text):
      .string(String(text.map { $0.isLetter || $0.isNumber || "-_".contains($0) ? "x" : $0 }))
    case .number: 0
    default: json
    }
  }
}
