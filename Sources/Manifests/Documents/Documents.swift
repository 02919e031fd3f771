import System

/// The answers of `configure.json`, as canonical bytes.
package enum Documents {
  /// The device has the newest version.
  package static func nothingNew(_ version: ManifestVersion, extras: AnswerExtras = .none) -> [UInt8] {
    var data = ObjectWriter()
    data.append(extras.interval)
    data.append(documentsOf: extras)
    data.append(rollback: extras.rollback)
    data.append(key: "update") { CanonicalJSON.append(raw: "false", to: &$0) }
    data.append(key: "version", string: version.text)
    return success.around(data.finish())
  }

  /// What stands around the resourcemap of a whole manifest.
  ///
  /// - Parameter base: for a device that understands patches, but for which the whole is smaller: what it
  ///   has, and the deltas on it (`DeltaOffer.render`).
  package static func whole(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase? = nil, extras: AnswerExtras = .none
  ) -> DocumentFrame {
    var data = opening(digest, base, extras)
    data.append(documentsOf: extras)
    var (head, tail) = data.split(at: "resourcemap")
    tail.append(rollback: extras.rollback)
    return closing(head, tail, version)
  }

  /// The same with its resourcemap.
  package static func whole(
    _ version: ManifestVersion, _ map: ResourceMap, base: DocumentBase? = nil, extras: AnswerExtras = .none
  ) -> [UInt8] {
    whole(version, digest: map.digest, base: base, extras: extras).around(map.bytes)
  }

  /// What stands around the patch from `base` to `version`, whose resourcemap has `digest`.
  package static func patch(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase, extras: AnswerExtras = .none
  ) -> DocumentFrame {
    let data = opening(digest, base, extras)
    var (head, tail) = data.split(at: "patch")
    tail.append(documentsOf: extras)
    tail.append(rollback: extras.rollback)
    return closing(head, tail, version)
  }

  /// The same with its patch.
  package static func patch(
    _ version: ManifestVersion, digest: SHA256, base: DocumentBase, _ patch: ManifestPatch,
    extras: AnswerExtras = .none
  ) -> [UInt8] {
    self.patch(version, digest: digest, base: base, extras: extras).around(patch.bytes)
  }

  /// A failure; `code` is the HTTP status, too.
  package static func failure(_ code: Int, _ message: String) -> [UInt8] {
    let document: JSONValue = ["code": .integer(code), "message": .string(message)]
    return document.canonical
  }

  static var success: DocumentFrame {
    DocumentFrame(prefix: Array("{\"code\":200,\"data\":".utf8), suffix: Array("}".utf8))
  }

  private static func opening(
    _ digest: SHA256, _ base: DocumentBase?, _ extras: AnswerExtras
  ) -> ObjectWriter {
    var data = ObjectWriter()
    if let base {
      data.append(key: "base", string: base.version.text)
      data.append(key: "deltas", raw: base.deltas)
    }
    data.append(key: "digest", string: digest.hex)
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
  mutating func append(_ interval: Int?) {
    guard let interval else { return }
    append(key: "interval") { CanonicalJSON.append(integer: Int64(interval), to: &$0) }
  }

  /// The members from `policy` to `reports`, between which no other one stands.
  mutating func append(documentsOf extras: AnswerExtras) {
    if let policy = extras.policy { append(key: "policy", string: String(policy)) }
    if let prefetch = extras.prefetch { append(key: "prefetch", string: String(prefetch)) }
    if let reports = extras.reports {
      append(key: "reports") { CanonicalJSON.append(integer: Int64(reports), to: &$0) }
    }
  }

  mutating func append(rollback: ManifestVersion?) {
    if let rollback { append(key: "rollback", string: rollback.text) }
  }
}

extension Documents {
  /// `prefetchConfig.json`; version 0 and an empty `config` before the first push.
  ///
  /// - Parameter config: the array, canonical.
  package static func prefetchConfig(_ version: Int64, config: [UInt8]) -> [UInt8] {
    var data = ObjectWriter(reserving: config.count + 64)
    data.append(key: "config", raw: config)
    data.append(key: "name", string: "prefetchConfig")
    data.append(key: "version", string: String(version))
    return success.around(data.finish())
  }

  /// `policy.json`; version 0 before the first change.
  package static func policy(_ version: Int64, _ policy: Policy) -> [UInt8] {
    var data = policy.json
    data["version"] = .string(String(version))
    return success.around(JSONValue.object(data).canonical)
  }
}

extension Documents {
  /// info.json, for clients that know only file lists.
  ///
  /// - Parameters:
  ///   - forEachURL: hands the URLs of a manifest, sorted, as their bytes: none has one that JSON would escape.
  ///   - digest: the manifest's.
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

/// A document around a part that is rendered already: a large manifest is sent without being copied into it.
package struct DocumentFrame: Hashable, Sendable {
  /// What comes before the part.
  package let prefix: [UInt8]
  /// What comes after it.
  package let suffix: [UInt8]

  /// The whole document, for parts that may be copied.
  package func around(_ middle: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(prefix.count + middle.count + suffix.count)
    out.append(contentsOf: prefix)
    out.append(contentsOf: middle)
    out.append(contentsOf: suffix)
    return out
  }
}
