import BuildCheck
import Manifests
import OriginAPI
import Store
import System
import Values

/// Refuses a release with secrets, whoever sends it: the publisher's own check may be older, or left out.
struct SecretGate {
  private let store: Store

  /// What was found in a file.
  private struct Found {
    let url: ResourceURL
    let secret: Secret

    var text: String {
      let place = secret.position.map { ":\($0.line):\($0.column)" } ?? ""
      return "\(url)\(place): \(secret.noun)"
    }

    var json: JSONValue {
      [
        "column": secret.position.map { .integer($0.column) } ?? .null,
        "line": secret.position.map { .integer($0.line) } ?? .null, "url": .string(url.text),
        "what": .string(secret.noun),
      ]
    }
  }

  init(_ store: Store) { self.store = store }

  /// Checks what a release brings: all names, and the bytes that no release had before.
  /// - Parameters:
  ///   - arrivals: what the release brings.
  ///   - allowed: the URLs whose files may have secrets.
  /// - Returns: what was found in the files that may have it, for the audit trail.
  /// - Throws: `Problem` `secret` for other files; it names places, never values.
  func check(_ arrivals: [ReleaseArrival], allowed: [String]) throws -> [String] {
    let found = try found(in: arrivals)
    if found.isEmpty { return [] }
    let allowed = Set(allowed)
    let refused = found.filter { !allowed.contains($0.url.text) }
    guard refused.isEmpty else {
      throw Problem(
        .unprocessableContent, "secret",
        "anyone can read what is published, and this looks secret. Nothing was released: remove it from the build, or "
          + "allow a file with xcache publish --allow-secret PATH:"
          + Listing.below(refused.map(\.text), hint: "--json lists all"),
        [.init(key: "secrets", value: .array(refused.prefix(100).map(\.json)))])
    }
    return found.map(\.text)
  }

  /// Refuses a document that anyone can read, such as a prefetch config, if it has a secret.
  static func check(_ bytes: [UInt8], _ what: String) throws(Problem) {
    let secrets = SecretFile.secrets(in: bytes, isText: true)
    if secrets.isEmpty { return }
    let lines = secrets.map { secret in
      "\(what)\(secret.position.map { ":\($0.line):\($0.column)" } ?? ""): \(secret.noun)"
    }
    throw Problem(
      .unprocessableContent, "secret",
      "anyone can read \(what), and this looks secret. Nothing was changed: remove it:"
        + Listing.below(lines, hint: "--json lists all"))
  }

  private func found(in arrivals: [ReleaseArrival]) throws -> [Found] {
    let results = Locked([[Found]](repeating: [], count: arrivals.count))
    try Parallel.forEach(arrivals.count, threads: Environment.cores) { [store] (number) throws(StoreError) in
      let arrival = arrivals[number]
      var secrets = arrival.isKnown ? [] : try Self.secrets(in: arrival.content, store)
      if let named = Self.named(arrival) { secrets.append(named) }
      if secrets.isEmpty { return }
      results.withLock { $0[number] = secrets.map { Found(url: arrival.url, secret: $0) } }
    }
    return results.withLock { $0.flatMap(\.self) }
  }

  private static func named(_ arrival: ReleaseArrival) -> Secret? {
    let path = arrival.url.path
    let decoded =
      path.utf8.contains(UInt8(ascii: "%"))
      ? String(decoding: PercentEncoding.decodeLeniently(path.utf8), as: UTF8.self) : String(path)
    return SecretNames.secret(of: decoded.drop { $0 == "/" }, size: arrival.content.size)
  }

  private static func secrets(in content: ResourceContent, _ store: Store) throws(StoreError) -> [Secret] {
    // The release itself reports what is missing.
    guard let blob = try store.openArrived(content.sha256) else { return [] }
    let type = content.ctype.essence
    let isText = type.hasPrefix("text/") || ["javascript", "json", "xml"].contains { type.hasSuffix($0) }
    do throws(SystemError) {
      return try SecretFile.secrets(in: blob.file, size: blob.size, isText: isText)
    } catch {
      throw .system(error)
    }
  }
}
