import OriginAPI
import Publishing
import Values

/// The words for signatures that a release waits for.
enum AwaitedWords {
  /// `1 more signature (of 2), by one of 60303f8b…, 9a01…`
  static func text(missing: Int, of needed: Int, by keys: [String]) -> String {
    let by =
      keys.isEmpty
      ? ", and the root names no further key for it"
      : ", by \(keys.count > missing ? "\(count(missing)) of " : "")\(list(keys))"
    return "\(missing) more \(missing == 1 ? "signature" : "signatures") (of \(needed))\(by)"
  }

  /// Names keys by the beginnings of their ids, as `trust status` does.
  static func list(_ keys: [String]) -> String {
    keys.isEmpty ? "nobody" : keys.map { $0.prefix(16) + "…" }.joined(separator: ", ")
  }

  private static func count(_ missing: Int) -> String { missing == 1 ? "one" : "\(missing)" }

  /// What several bundles lack: once if it is the same, else by bundle.
  static func text(_ lacking: [LackingSignatures]) -> String {
    let all = lacking.map {
      ($0.bundle.text, text(missing: $0.missing, of: $0.needed, by: $0.candidates.map(\.text)))
    }
    guard let first = all.first else { return "no signature" }
    if all.allSatisfy({ $0.1 == first.1 }) { return first.1 }
    return all.map { "\($0.1), of bundle \($0.0)" }.joined(separator: "; ")
  }
}

extension AwaitedSignatures {
  /// How many keys have to sign.
  var needed: Int { keys.count + missing }
}

extension ScheduledInfo {
  /// Whether it is a release that waits for signatures.
  var isUnsigned: Bool { state == "waiting" && signatures?.isEmpty == false }

  /// Its state as a word: that it waits for signatures is one of its own.
  var stateWord: String { isUnsigned ? "unsigned" : state }

  /// What it waits for: `1 more signature (of 2), by one of 60303f8b…, 9a01…`
  var awaitedWords: String {
    let all = (signatures ?? []).filter { $0.missing > 0 }.map { awaited in
      (
        awaited.bundle.text,
        AwaitedWords.text(missing: awaited.missing, of: awaited.needed, by: awaited.candidates)
      )
    }
    // A root that was pushed since may ask for fewer.
    guard let first = all.first else { return "any signature that is asked for" }
    if all.allSatisfy({ $0.1 == first.1 }) { return first.1 }
    return all.map { "\($0.1), of bundle \($0.0)" }.joined(separator: "; ")
  }

  /// When it is due, if that isn't as soon as it is signed.
  var dueWords: String { due > at ? "; due \(due.formatted), once it is signed" : "" }
}
