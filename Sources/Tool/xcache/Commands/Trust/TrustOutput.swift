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
    lines += floorLines(root, of: other)
    if let key = root.scriptKey { lines.append("script key \(Base64.encode(key))") }
    return lines
  }

  private static func floorLines(_ root: TrustRoot, of other: TrustRoot? = nil) -> [String] {
    var lines: [String] = []
    for (bundle, floor) in root.floors.sorted(by: { $0.key < $1.key })
    where other.map({ $0.floors[bundle] != nil }) ?? true {
      lines.append("floor of \(bundle): \(time(floor))")
    }
    if let floor = root.prefetchFloor, other.map({ $0.prefetchFloor != nil }) ?? true {
      lines.append("floor of prefetch configs: \(time(floor))")
    }
    return lines
  }

  /// What one root says and the other doesn't: `+` is new. Floors of the one before stay in force where the other sets none. One that is
  /// named again is said, too: it takes back what has been raised since.
  static func differences(from old: TrustRoot?, to new: TrustRoot) -> [String] {
    let (before, after) = (old.map { lines($0, floorsOf: new) } ?? [], lines(new))
    let floors = Set(floorLines(new))
    return before.filter { !after.contains($0) }.map { "- \($0)" }
      + after.compactMap { line in
        guard before.contains(line) else { return "+ \(line)" }
        return floors.contains(line) ? "+ \(line) (named again: lowers what was raised since)" : nil
      }
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

  /// What devices would refuse, and what is missing, for a message.
  static func refused(_ holdings: Holdings, by judge: RootJudge) -> [String] {
    let root = judge.root.document
    return holdings.bundles.compactMap { bundle in
      judge.failure(of: bundle.live, bundle.statement, in: bundle.channel).map {
        "\(bundle.live.bundle) in \(bundle.channel)\(bundle.isCandidate ? ", the candidate" : ""): "
          + missing($0, bundle, root)
      }
    }
      + holdings.prefetch.compactMap { config in
        judge.failure(ofPrefetch: config.content, config.statement, in: config.channel).map {
          "the prefetch config of \(config.channel): " + missing($0, config, root)
        }
      }
  }

  private static func missing(_ failure: TrustFailure, _ bundle: Holdings.Bundle, _ root: TrustRoot) -> String
  {
    switch failure {
    case .releaseMissing, .releaseKey, .releaseScope, .releasePlace:
      let grants = root.grants.filter { grant in
        grant.covers(bundle.live.bundle, in: bundle.channel)
          && bundle.live.items.allSatisfy { grant.covers($0.url) }
      }
      if grants.isEmpty {
        return "no key of root \(root.number) may sign it, in this channel and with these URLs"
      }
      let statement = failure == .releasePlace ? nil : bundle.statement
      let keys = Array(Set(grants.flatMap(\.signers.keys)))
      let signed = statement?.signers(among: keys, keys: root.keys, by: SystemVerifier()) ?? []
      return grants.map { needed($0.signers.threshold, of: $0.signers.keys, signed) }
        .joined(separator: ", or ")
    case .releaseFloor:
      let floor = root.floors[bundle.live.bundle] ?? bundle.floor
      return "it was signed \(bundle.statement.map { time($0.document.serial) } ?? "before")"
        + ", which is below the floor\(floor.map { ", \(time($0))" } ?? "")"
    case .releaseContent: return "what was signed has other files"
    default: return "devices refuse what there is (\(failure.rawValue))"
    }
  }

  private static func missing(_ failure: TrustFailure, _ config: Holdings.Prefetch, _ root: TrustRoot)
    -> String
  {
    switch failure {
    case .prefetchMissing, .prefetchKey, .prefetchPlace: needed(1, of: root.prefetch, [])
    case .prefetchFloor:
      "it was signed before the floor\((root.prefetchFloor ?? config.floor).map { ", \(time($0))" } ?? "")"
    case .prefetchContent: "what was signed is another one"
    default: "devices refuse what there is (\(failure.rawValue))"
    }
  }

  /// What a root names a key for.
  static func role(of key: KeyID, in root: TrustRoot) -> String {
    var roles: [String] = []
    if root.roots.keys.contains(key) { roles.append("root key") }
    if root.grants.contains(where: { $0.signers.keys.contains(key) }) { roles.append("release key") }
    if root.prefetch.contains(key) { roles.append("prefetch key") }
    if root.heads.contains(key) { roles.append("head key") }
    return roles.isEmpty
      ? "key \(short(key)), which root \(root.number) doesn't name"
      : "\(roles.joined(separator: ", ")) \(short(key))"
  }

  /// Such as `2 of 60303f8b52c1e0aa, 63a0… must sign; 60303f8b52c1e0aa has`.
  private static func needed(_ threshold: Int, of keys: [KeyID], _ signed: [KeyID]) -> String {
    let has = keys.filter(signed.contains)
    return (keys.count == 1 ? "\(list(keys)) must sign" : "\(threshold) of \(list(keys)) must sign")
      + (has.isEmpty ? "; none has" : "; \(list(has)) \(has.count == 1 ? "has" : "have")")
  }
}
