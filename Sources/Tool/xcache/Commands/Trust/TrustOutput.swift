import Manifests
import Publishing
import System
import Trust
import Values

/// What a root says, in words.
enum TrustOutput {
  /// The beginning of a key's id, as people compare it.
  static func short(_ key: KeyID) -> String { String(key.text.prefix(16)) }

  static func list(_ keys: some Sequence<KeyID>) -> String {
    let words = keys.map(short)
    return words.isEmpty ? "nobody" : words.joined(separator: ", ")
  }

  /// Each thing that a root says, on a line of its own.
  /// - Parameter other: if given, floors are left out that this one doesn't set.
  static func lines(_ root: TrustRoot, floorsOf other: TrustRoot? = nil) -> [String] {
    var lines: [String] = []
    if root.isOff { lines.append("off: devices check nothing any more, but the roots that follow") }
    for key in root.roots.keys { lines.append("root key \(short(key))") }
    lines.append("\(root.roots.threshold) of the root keys must sign the next root")
    for (grant, json) in zip(root.grants, root.json["releases"]?.array ?? []) {
      func words(_ key: String) -> String {
        let names = json[key]?.array?.compactMap(\.string) ?? []
        return names == ["*"] ? "all" : names.joined(separator: ", ")
      }
      for key in grant.signers.keys {
        lines.append(
          "release key \(short(key)): channels \(words("channels")); bundles \(words("bundles")); URLs \(words("prefixes")); "
            + "\(grant.signers.threshold) must sign")
      }
    }
    for key in root.prefetch { lines.append("prefetch key \(short(key))") }
    for key in root.heads { lines.append("head key \(short(key))") }
    for (bundle, floor) in root.floors.sorted(by: { $0.key < $1.key })
    where other.map({ $0.floors[bundle] != nil }) ?? true {
      lines.append("floor of \(bundle): \(time(floor))")
    }
    if let floor = root.prefetchFloor, other.map({ $0.prefetchFloor != nil }) ?? true {
      lines.append("floor of prefetch configs: \(time(floor))")
    }
    if let key = root.scriptKey { lines.append("script key \(Base64.encode(key))") }
    return lines
  }

  /// What one root says and the other doesn't: `+` is new. Floors of the one before stay in force where the other sets none.
  static func differences(from old: TrustRoot?, to new: TrustRoot) -> [String] {
    let (before, after) = (old.map { lines($0, floorsOf: new) } ?? [], lines(new))
    return before.filter { !after.contains($0) }.map { "- \($0)" }
      + after.filter { !before.contains($0) }.map { "+ \($0)" }
  }

  /// A serial as the time that it usually is.
  static func time(_ serial: Serial) -> String {
    // In the year 2100 at most: one beyond was chosen, not read from a clock.
    serial.number > 1_000_000_000_000 && serial.number < 4_102_444_800_000
      ? "\(serial) (\(Timestamp.words(serial.number)))" : "\(serial)"
  }

  /// A root's signatures, and what is missing.
  static func signatures(_ signed: Signed<TrustRoot>, after before: TrustRoot?) -> String {
    let root = signed.document
    let keys = (before?.keys ?? [:]).merging(root.keys) { _, new in new }
    let ids = Set((before?.roots.keys ?? []) + root.roots.keys)
    let signers = signed.signers(among: ids, keys: keys, by: SystemVerifier())
    let missing = signed.missing(after: before)
    var words = "signed by \(list(signers))"
    if let before = missing.before, before > 0 {
      words += "; \(before) more of the root before must sign"
    }
    if missing.own > 0 { words += "; \(missing.own) more of its own root keys must sign" }
    return words
  }

  /// Whether enough root keys have signed.
  static func isComplete(_ signed: Signed<TrustRoot>, after before: TrustRoot?) -> Bool {
    let missing = signed.missing(after: before)
    return missing.own == 0 && missing.before ?? 0 == 0
  }

  /// What the statements are for, and what was there before.
  static func table(_ statements: NewStatements, _ holdings: Holdings, _ root: TrustRoot) -> [String] {
    var table = Table(["BUNDLE", "CHANNELS", "FILES", "CONTENT", "SIGNED BEFORE"], rightAligned: [2])
    for signed in statements.releases {
      let statement = signed.document
      let bundle = holdings.bundles.first {
        $0.live.bundle == statement.bundle && $0.live.content == statement.content
      }
      let before = bundle?.statement.map { before in
        "\(Timestamp.words(before.document.serial.number)) by \(list(before.envelope.signatures.map(\.key)))"
      }
      table.add([
        statement.bundle.text, statement.channels.map(\.text).joined(separator: ","),
        "\(bundle?.live.items.count ?? 0)", String(statement.content.hex.prefix(16)), before ?? "no",
      ])
    }
    for signed in statements.prefetch {
      let statement = signed.document
      table.add([
        "(prefetch config)", statement.channels.map(\.text).joined(separator: ","), "",
        String(statement.content.hex.prefix(16)), "",
      ])
    }
    return table.isEmpty ? [] : table.lines
  }

  static func json(_ statements: NewStatements) -> [JSONValue] {
    statements.releases.map { $0.document.json } + statements.prefetch.map { $0.document.json }
  }

  /// What devices would refuse, for a message.
  static func refused(_ holdings: Holdings, by judge: RootJudge) -> [String] {
    holdings.bundles.compactMap { bundle in
      judge.failure(of: bundle.live, bundle.statement, in: bundle.channel).map {
        "\(bundle.live.bundle) in \(bundle.channel)\(bundle.isCandidate ? ", the candidate" : ""): \($0.rawValue)"
      }
    }
      + holdings.prefetch.compactMap { config in
        judge.failure(ofPrefetch: config.content, config.statement, in: config.channel).map {
          "the prefetch config of \(config.channel): \($0.rawValue)"
        }
      }
  }
}
