import Manifests
import Store
import System

extension CollectionReport {
  /// What the API and `xcache gc --json` say of a garbage collection.
  package func json(dryRun: Bool) -> JSONValue {
    [
      "blobs": blobs.json, "channels": .array(channels.map(\.json)), "derived": derived.json,
      "dryRun": .bool(dryRun), "entries": .integer(entries), "freedBytes": .integer(freedBytes),
      "longestWriteMilliseconds": .integer((longestWrite + 999_999) / 1_000_000),
      "orphans": orphans.json, "promised": .integer(promised), "resources": .integer(resources),
      "stoppedFor": .strings(stoppedFor), "temporary": temporary.json, "urls": .integer(urls),
    ]
  }
}

extension CollectionReport.Files {
  fileprivate var json: JSONValue { ["bytes": .integer(bytes), "files": .integer(count)] }
}

extension CollectionReport.Channel {
  fileprivate var json: JSONValue {
    [
      "app": .string(app.text), "channel": .string(name.text), "dropped": .strings(dropped.map(\.text)),
      "kept": .array(
        kept.map { ["reasons": .array($0.reasons.map(\.json)), "version": .string($0.version.text)] }),
    ]
  }
}

extension KeepReason {
  fileprivate var json: JSONValue {
    switch self {
    case .live: ["why": "live"]
    case .recent: ["why": "recent"]
    case .reported(let polls, let hours, let last):
      [
        "hours": .integer(hours), "last": .string(Timestamp.text(last)), "polls": .integer(polls),
        "why": "reported",
      ]
    case .pinned(let author, let reason):
      ["author": .string(author), "reason": .string(reason), "why": "pinned"]
    case .mirrored(let name): ["mirror": .string(name), "why": "mirrored"]
    case .lastNumber: ["why": "lastNumber"]
    }
  }
}
