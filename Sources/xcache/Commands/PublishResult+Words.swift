import Manifests
import Publishing

extension PublishResult {
  /// What happened, for people.
  func lines(dryRun: Bool, _ terminal: Terminal) -> [String] {
    guard answer.isChanged else {
      let unchanged = "nothing changed: version \(answer.version) has these \(files) files already"
      if uploaded == 0 { return [unchanged] }
      return [
        unchanged, "\(dryRun ? "would send" : "sent") \(uploaded) that were damaged at the origin again",
      ]
    }
    var lines: [String] = []
    if answer.createdApp { lines.append(dryRun ? "would create the app" : "created the app") }
    if answer.createdChannel { lines.append(dryRun ? "would create the channel" : "created the channel") }
    let counts = "+\(added) ~\(changed) −\(removed)"
    let sent = "\(Bytes.text(uploadedBytes)) of \(Bytes.text(bytes))"
    lines.append(
      dryRun
        ? "dry run: \(counts), would send \(sent), would become version \(answer.version)"
        : "\(counts), sent \(sent), \(terminal.colour("version \(answer.version)", .bold))")
    for bundle in answer.bundles {
      guard let replaced = bundle.replaced else { continue }
      lines.append(
        terminal.colour(
          "bundle \(bundle.name): replaces version \(replaced.version), which \(replaced.author) released "
            + "at \(replaced.at) while this publish was under way", .yellow))
    }
    return lines
  }

  /// The same as one document: the origin's answer, and what this side did for it.
  func json(dryRun: Bool) -> JSONValue {
    var document = answer.json.object ?? JSONObject()
    document["dryRun"] = .bool(dryRun)
    document["files"] = .integer(files)
    document["filesRead"] = .integer(filesRead)
    document["totalBytes"] = .integer(bytes)
    document["uploaded"] = .integer(uploaded)
    document["uploadedBytes"] = .integer(uploadedBytes)
    document["sentBytes"] = .integer(bytesSent)
    return .object(document)
  }
}
