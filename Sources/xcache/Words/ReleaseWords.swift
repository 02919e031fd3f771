import Manifests

/// What the outputs of the commands that make releases have in common.
enum ReleaseWords {
  /// Seconds without a byte that are waited for an answer, which may wait for deltas.
  static let patience = 900

  /// What became of a prefetch config that came along.
  static func prefetch(_ answer: JSONValue, dryRun: Bool) -> [String] {
    guard let prefetch = answer["prefetch"], prefetch.object != nil else { return [] }
    let (version, source) = (prefetch["version"]?.string ?? "?", prefetch["source"]?.string ?? "?")
    if prefetch["kept"]?.bool == true {
      let kept = version == "0" ? "there is none here either" : "version \(version) stays as it is"
      return ["prefetch config: \(answer["from"]?.string ?? "the source") has none to promote; \(kept)"]
    }
    guard prefetch["changed"]?.bool == true else {
      return ["prefetch config: nothing changed, version \(version) is that already"]
    }
    let content = source == "0" ? "empty, as there was none then" : "the content of version \(source)"
    let place = answer["from"]?.string.map { " of \($0)" } ?? ""
    return [
      "prefetch config: \(content)\(place), \(dryRun ? "would become" : "now") version \(version)"
    ]
  }

  /// Whether it waited for its deltas, and the receipt.
  static func end(_ answer: JSONValue, dryRun: Bool) -> [String] {
    if dryRun { return [] }
    let deltas =
      answer["deltasStored"]?.bool == true
      ? "visible with its deltas"
      : "visible before its deltas were made: devices that update now fetch whole files"
    return [deltas] + receipt(answer)
  }

  /// The row of the audit trail that tells of it.
  static func receipt(_ answer: JSONValue) -> [String] {
    answer["receipt"]?.string.map { ["receipt \($0)"] } ?? []
  }
}
