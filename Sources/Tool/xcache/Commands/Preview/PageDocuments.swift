import Preview
import PreviewProtocol
import Values

// What `--json` prints of pages.

extension PreviewedPage {
  var json: JSONObject {
    var members = JSONObject()
    members["app"] = .string(channel.app.text)
    members["channel"] = .string(channel.channel.text)
    members["engine"] = .string(engine)
    members["fallback"] = listing.fallback.map { .string($0) } ?? .null
    members["hint"] = listing.hint.map { .string($0) } ?? .null
    members["isInRelease"] = .bool(listing.isListed)
    members["page"] = .object(report.json)
    members["policy"] = policy.map { .string($0) } ?? .null
    members["screenshot"] = screenshot.map { .string($0) } ?? .null
    members["url"] = .string(address)
    members["version"] = .string(version)
    return members
  }
}

extension SmokeVerdict {
  var json: JSONValue {
    var members = report.json
    members["url"] = .string(page.text)
    members["isFine"] = .bool(failures.isEmpty)
    members["findings"] = .array(
      findings.map { finding in
        [
          "place": finding.place.isEmpty ? .null : .string(finding.place),
          "problem": finding.problem.map { .string($0.rawValue) } ?? .null, "text": .string(finding.text),
        ]
      })
    return .object(members)
  }
}

extension PageReport {
  /// The page's report for `--json`.
  var json: JSONObject {
    var members = JSONObject()
    members["console"] = .array(console.map(\.json))
    members["failure"] = failure.map { .string($0) } ?? .null
    members["finalURL"] = finalURL.map { .string($0) } ?? .null
    members["firstContentfulPaint"] = PreviewOutput.whole(firstContentfulPaint).json
    members["isBlank"] = .bool(isBlank)
    members["load"] = PreviewOutput.whole(load).json
    members["requests"] = .array(requests.map(\.json))
    members["scriptErrors"] = .array(scriptErrors.map(\.json))
    members["status"] = status.json
    members["title"] = title.map { .string($0) } ?? .null
    return members
  }
}

extension PageReport.Request {
  /// The URL, shortened if it is a data: URL, which contains a whole file.
  private var shortURL: String {
    url.hasPrefix("data:") && url.utf8.count > 100 ? url.prefix(100) + "…" : url
  }

  fileprivate var json: JSONValue {
    [
      "bytes": .integer(bytes), "kind": .string(kindName), "ms": ms.json,
      "source": .string(source.rawValue),
      "status": status.json, "url": .string(shortURL),
    ]
  }
}

extension PageReport.Message {
  fileprivate var json: JSONValue {
    var members = JSONObject()
    if let level, !level.isEmpty { members["level"] = .string(level) }
    members["column"] = column.json
    members["line"] = line.json
    members["text"] = .string(text)
    members["url"] = .string(url ?? "")
    return .object(members)
  }
}

extension Int64? {
  fileprivate var json: JSONValue { map { .integer($0) } ?? .null }
}
