import Manifests
import Store
import System

/// What the commands that work on a data folder have in common.
enum KeepingWords {
  /// The data folder that `--data` names, read beside the server that may have it.
  static func besideStore(_ arguments: Arguments) throws -> Store {
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is needed: the data folder of the origin")
    }
    var options = Store.Options()
    options.isBeside = true
    return try Store(path: data, options: options)
  }
}

/// Says which files are damaged, and what to publish again.
enum DamageWords {
  /// One line for each URL, and for bytes that no live URL has one line for each digest.
  static func tell(_ damaged: [SHA256], _ urls: [DamagedURL], _ what: String, _ terminal: Terminal) {
    if damaged.isEmpty { return }
    terminal.note("\(what): \(Count.text(damaged.count, "file")); everything else is whole")
    for place in urls {
      terminal.note("publish again: \(place.url) (\(place.app) \(place.channel), bundle \(place.bundle))")
    }
    let listed = Set(urls.map(\.sha256))
    for sha256 in damaged where !listed.contains(sha256) {
      terminal.note("in older versions only: \(sha256.hex)")
    }
  }
}

extension DamagedURL {
  var json: JSONValue {
    [
      "app": .string(app), "bundle": .string(bundle), "channel": .string(channel),
      "sha256": .string(sha256.hex), "url": .string(url),
    ]
  }
}
