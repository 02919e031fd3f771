import Manifests
import OriginAPI
import Publishing
import Values

extension PublishResult {
  /// Describes the result for people.
  func lines(dryRun: Bool, _ terminal: Terminal) -> [String] {
    guard answer.isChanged else {
      if uploaded == 0, answer.rollout?.ended?.state == "completed" {
        return answer.rolloutLines(dryRun: dryRun, terminal) + answer.receiptLines
      }
      let unchanged =
        "nothing changed: version \(answer.version) already has \(files == 1 ? "this" : "these") \(Count.text(files, "file"))"
      let rollout = answer.rolloutLines(dryRun: dryRun, terminal)
      // What wasn't released may have been signed all the same, such as for further channels, or to raise a floor.
      let signed = terminal.isQuiet || dryRun ? [] : GivenSigning.lines(statements)
      let maps = terminal.isQuiet ? [] : mapLines(dryRun: dryRun, terminal)
      if uploaded == 0 { return [unchanged] + maps + signed + rollout }
      return [
        unchanged,
        "\(dryRun ? "would send" : "sent") \(Count.text(uploaded, "file")) again, because "
          + "\(uploaded == 1 ? "it was" : "they were") damaged at the origin",
      ] + maps + signed + rollout
    }
    var lines: [String] = []
    if answer.createdApp { lines.append(dryRun ? "would create the app" : "created the app") }
    if answer.createdChannel { lines.append(dryRun ? "would create the channel" : "created the channel") }
    for bundle in createdBundles where !answer.createdChannel {
      lines.append("\(dryRun ? "would create" : "created") bundle \(bundle)")
    }
    let counts = "+\(added) ~\(changed) −\(removed)"
    let sent = "\(sendsFiles ? "sent" : "would send") \(Bytes.text(uploadedBytes)) of \(Bytes.text(bytes))"
    lines.append(
      dryRun
        ? "dry run: \(counts), \(sent), would become version \(answer.version)"
        : "\(counts), \(sent), \(terminal.colour("version \(answer.version)", .bold))")
    lines += answer.rolloutLines(dryRun: dryRun, terminal)
    if !terminal.isQuiet || sourceMaps?.problem != nil { lines += mapLines(dryRun: dryRun, terminal) }
    if !terminal.isQuiet { lines += GivenSigning.lines(statements) }
    if dryRun, !terminal.isQuiet { lines += pageLines }
    // The cost is useful to know, but not part of the result.
    if !terminal.isQuiet, let preparation = preparation?.value {
      if !dryRun, answer.previous != .none {
        lines.append(answer.visibility(after: preparation.milliseconds))
      }
      if isOvertaken {
        lines.append(
          "another release was made in the meantime: "
            + (dryRun
              ? "run it again for the cost of this one"
              : "`xcache show \(answer.version)` shows the cost of this one"))
      } else {
        lines += preparation.lines(of: answer.version, dryRun: dryRun)
      }
    }
    lines += answer.freezeLines(terminal)
    if hasNoLimit { lines.append("--max-update has no effect: no device has an earlier version") }
    for bundle in answer.bundles {
      guard let replaced = bundle.replaced else { continue }
      lines.append(
        terminal.colour(
          "bundle \(bundle.bundle): replaces version \(replaced.version), which \(replaced.author) released "
            + "at \(replaced.at.formatted) while this publish was under way", .yellow))
    }
    if let afterwards {
      let what = afterwards.isAboutOlderVersions ? "" : "its cost for devices could not be determined: "
      lines.append(terminal.colour("the release is live, but \(what)\(afterwards.message)", .yellow))
    }
    return lines + answer.receiptLines
  }

  private func mapLines(dryRun: Bool, _ terminal: Terminal) -> [String] {
    sourceMaps.map { SourceMapOutput.lines($0, dryRun: dryRun, terminal) } ?? []
  }

  /// How many pages are named; --json has all.
  private static let maxPages = 10

  /// For a dry run: the pages that would change.
  private var pageLines: [String] {
    let pages = changedPages
    if pages.isEmpty { return [] }
    let more = pages.count - Self.maxPages
    return ["\(Count.text(pages.count, "page")) would change:"]
      + pages.prefix(Self.maxPages).map { "  \($0)" }
      + (more > 0 ? ["  … and \(more) more; --json has them all"] : [])
  }

  /// Returns the result as a document: the origin's answer, and what was done here.
  func json(dryRun: Bool) -> JSONValue {
    var document = PrintedRelease.of(release.document)
    if let check { document["check"] = check.json }
    document["changedPages"] = .strings(changedPages)
    document["dryRun"] = .bool(dryRun)
    var deltas = preparation?.document.object
    if isOvertaken { deltas?["cost"] = nil }
    document["deltas"] = deltas.map { .object($0) }
    document["files"] = .integer(files)
    document["filesRead"] = .integer(filesRead)
    document["totalBytes"] = .integer(bytes)
    document["uploaded"] = .integer(uploaded)
    document["uploadedBytes"] = .integer(uploadedBytes)
    document["sentBytes"] = .integer(bytesSent)
    if let sourceMaps { document["sourceMaps"] = SourceMapOutput.json(sourceMaps) }
    if !statements.isEmpty { document["signed"] = GivenSigning.json(statements) }
    return .object(document)
  }
}

extension PreparationAnswer {
  /// Describes what devices download.
  fileprivate func lines(of version: ManifestVersion, dryRun: Bool) -> [String] {
    guard cost.isKnown else {
      return dryRun
        ? ["the download size can't be determined"]
        : ["the download size isn't known yet: see `xcache show \(version)` later"]
    }
    var lines: [String] = []
    let awaitsPack = cost.new.map { $0.pack == nil && $0.files >= TransferCost.leastPacked } ?? false
    let rows: [(String, TransferCost?, Bool)] = [
      ("devices at the current version", cost.last1, ready), ("devices 2 versions back", cost.last2, done),
      ("devices 5 versions back", cost.last5, done), ("new devices", cost.new, !awaitsPack),
    ]
    for (who, update, isExact) in rows {
      guard let update else { continue }
      lines.append("\(who) download \(isExact ? "" : "at most ")\(update.formatted)")
    }
    if awaitsPack {
      lines.append(
        "  less with their pack, which is made in the background if it gains anything"
          + (dryRun ? "" : ": see `xcache diff 0 \(version)`"))
    }
    if !done, !dryRun {
      lines.append(
        "other sizes are still being computed: see `xcache show \(version)`, or `xcache diff A \(version)` for a version A"
      )
    }
    return lines
  }
}

extension TransferCost {
  /// The files from which on a first install has a pack, unless that gains nothing (docs/protocol.md, section 8).
  fileprivate static let leastPacked: Int64 = 4

  /// What a device downloads: `4.6 KB in 2 requests, 68 files as a pack (5.9 MB as whole files)`.
  var formatted: String {
    let saved =
      (pack != nil || deltas > 0) && plainBytes > wireBytes
      ? " (\(Bytes.text(plainBytes)) as whole files)" : ""
    let what = Count.text(files, "file")
    let later =
      lazy.map {
        "; \(Count.text($0.files, "lazy file")) (\(Bytes.text($0.bytes))) when pages ask for \($0.files == 1 ? "it" : "them")"
      }
      ?? ""
    guard let requests else { return "\(Bytes.text(bytes)) in \(what)\(saved)\(later)" }
    // A first pack may lack some.
    let how = pack == nil ? what : "\(what)\(requests > 2 ? ", most of them" : "") as a pack"
    return "\(Bytes.text(wireBytes)) in \(Count.text(requests, "request")), \(how)\(saved)\(later)"
  }
}
