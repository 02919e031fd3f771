import System
import Values

/// The answers of `configure.json`, as canonical bytes.
package enum Documents {
  /// Returns the answer for a device that has the newest version.
  package static func nothingNew(_ version: ManifestVersion, extras: AnswerExtras = .none) -> [UInt8] {
    var data = ObjectWriter()
    data.append(edgeOf: extras)
    data.append(extras.interval)
    data.append(documentsOf: extras)
    data.append(releasesOf: extras, trust: nil)
    data.append(key: "update") { CanonicalJSON.append(raw: "false", to: &$0) }
    data.append(key: "version", string: version.text)
    return success.around(data.finish())
  }

  /// Returns the frame around the resourcemap of a whole manifest.
  ///
  /// - Parameters:
  ///   - version: the version of the manifest.
  ///   - digest: the digest of the resourcemap.
  ///   - base: for a device that takes patches, but for which the whole manifest is smaller: its version, and
  ///     the deltas over that.
  ///   - first: a first pack of the manifest's files; nil if there is none.
  ///   - extras: what the answer carries besides the manifest.
  ///   - trust: the member `trust`, as canonical JSON; nil in a channel without a root.
  package static func whole(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase? = nil, first: PackOffer? = nil,
    extras: AnswerExtras = .none, trust: [UInt8]? = nil
  ) -> DocumentFrame {
    var data = opening(digest, base, extras, first: first)
    data.append(documentsOf: extras)
    var (head, tail) = data.split(at: "resourcemap")
    tail.append(releasesOf: extras, trust: trust)
    return closing(head, tail, version)
  }

  /// Returns the answer with a whole manifest.
  package static func whole(
    _ version: ManifestVersion, _ map: ResourceMap, base: DocumentBase? = nil, first: PackOffer? = nil,
    extras: AnswerExtras = .none, trust: [UInt8]? = nil
  ) -> [UInt8] {
    whole(version, digest: map.digest, base: base, first: first, extras: extras, trust: trust)
      .around(map.bytes)
  }

  /// Returns the frame around the patch from `base` to `version`, whose resourcemap has `digest`.
  package static func patch(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase, extras: AnswerExtras = .none,
    trust: [UInt8]? = nil
  ) -> DocumentFrame {
    let data = opening(digest, base, extras)
    var (head, tail) = data.split(at: "patch")
    tail.append(documentsOf: extras)
    tail.append(releasesOf: extras, trust: trust)
    return closing(head, tail, version)
  }

  /// Returns the answer with a patch.
  package static func patch(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase, _ patch: ManifestPatch,
    extras: AnswerExtras = .none, trust: [UInt8]? = nil
  ) -> [UInt8] {
    self.patch(version, digest: digest, base: base, extras: extras, trust: trust).around(patch.bytes)
  }

  /// Returns a failure; `code` is also the HTTP status.
  package static func failure(_ code: Int, _ message: String) -> [UInt8] {
    let document: JSONValue = ["code": .integer(code), "message": .string(message)]
    return document.canonical
  }

  static var success: DocumentFrame {
    DocumentFrame(prefix: Array("{\"code\":200,\"data\":".utf8), suffix: Array("}".utf8))
  }

  private static func opening(
    _ digest: SHA256, _ base: DocumentBase?, _ extras: AnswerExtras, first: PackOffer? = nil
  ) -> ObjectWriter {
    var data = ObjectWriter()
    if let base {
      data.append(key: "base", string: base.version.text)
      data.append(key: "deltas", raw: base.deltas)
    }
    data.append(key: "digest", string: digest.hex)
    data.append(edgeOf: extras)
    if let first { data.append(key: "first") { CanonicalJSON.append(first.json, to: &$0) } }
    data.append(extras.interval)
    return data
  }

  private static func closing(
    _ head: [UInt8], _ tail: ObjectWriter, _ version: ManifestVersion
  ) -> DocumentFrame {
    var tail = tail
    tail.append(key: "update") { CanonicalJSON.append(raw: "true", to: &$0) }
    tail.append(key: "version", string: version.text)
    return DocumentFrame(prefix: success.prefix + head, suffix: tail.finish() + success.suffix)
  }
}

extension ObjectWriter {
  mutating func append(edgeOf extras: AnswerExtras) {
    guard let edge = extras.edge else { return }
    append(key: "edge") { CanonicalJSON.append(integer: Int64(edge), to: &$0) }
  }

  mutating func append(_ interval: Int?) {
    guard let interval else { return }
    append(key: "interval") { CanonicalJSON.append(integer: Int64(interval), to: &$0) }
  }

  /// Appends the members from `policy` to `reports`, which are adjacent in every answer.
  mutating func append(documentsOf extras: AnswerExtras) {
    if let policy = extras.policy { append(key: "policy", string: String(policy)) }
    if let prefetch = extras.prefetch { append(key: "prefetch", string: String(prefetch)) }
    if let reports = extras.reports {
      append(key: "reports") { CanonicalJSON.append(integer: Int64(reports), to: &$0) }
    }
  }

  /// Appends the members from `rollback` to `trust`, which are adjacent in every answer.
  mutating func append(releasesOf extras: AnswerExtras, trust: [UInt8]?) {
    if let rollback = extras.rollback { append(key: "rollback", string: rollback.text) }
    if let rollout = extras.rollout {
      append(key: "rollout") { CanonicalJSON.append(rollout.json, to: &$0) }
    }
    if let root = extras.root { append(key: "root", string: String(root)) }
    if let samples = extras.samples {
      append(key: "samples") { CanonicalJSON.append(integer: Int64(samples), to: &$0) }
    }
    if let trust { append(key: "trust", raw: trust) }
  }
}

extension Documents {
  /// Returns `prefetchConfig.json`; it has version 0 and an empty `config` before the first push.
  ///
  /// - Parameters:
  ///   - version: the version of the document.
  ///   - config: the array, as canonical JSON.
  ///   - trust: the envelope of its statement, as canonical JSON; nil in a channel without a root.
  package static func prefetchConfig(_ version: Int64, config: [UInt8], trust: [UInt8]? = nil) -> [UInt8] {
    var data = ObjectWriter(reserving: config.count + 64)
    data.append(key: "config", raw: config)
    data.append(key: "name", string: "prefetchConfig")
    if let trust { data.append(key: "trust", raw: trust) }
    data.append(key: "version", string: String(version))
    return success.around(data.finish())
  }

  /// Returns `policy.json`; it has version 0 before the first change.
  package static func policy(_ version: Int64, _ policy: Policy) -> [UInt8] {
    var data = policy.json
    data["version"] = .string(String(version))
    return success.around(JSONValue.object(data).canonical)
  }
}

extension Documents {
  /// Returns `info.json`, for clients that know only file lists.
  ///
  /// - Parameters:
  ///   - digest: the digest of the manifest.
  ///   - forEachURL: passes the URLs of a manifest, sorted, as bytes; none contains a byte that JSON escapes.
  package static func info(digest: SHA256, _ forEachURL: ((ArraySlice<UInt8>) -> Void) -> Void) -> [UInt8] {
    var out: [UInt8] = []
    out += "{\"files\":[".utf8
    var isFirst = true
    forEachURL { url in
      if !isFirst { out.append(UInt8(ascii: ",")) }
      isFirst = false
      out.append(UInt8(ascii: "\""))
      out += url
      out.append(UInt8(ascii: "\""))
    }
    out += "],\"version\":\"\(digest.hex.prefix(20))\"}".utf8
    return out
  }
}

/// A document around a part that is already rendered, so that a large manifest is sent without being copied.
package struct DocumentFrame: Hashable, Sendable {
  /// The bytes before the part.
  package let prefix: [UInt8]
  /// The bytes after the part.
  package let suffix: [UInt8]

  /// Returns the whole document, copying the part.
  package func around(_ middle: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(prefix.count + middle.count + suffix.count)
    out.append(contentsOf: prefix)
    out.append(contentsOf: middle)
    out.append(contentsOf: suffix)
    return out
  }
}
