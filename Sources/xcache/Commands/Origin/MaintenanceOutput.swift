import Manifests
import Store
import System

/// What the commands that work on a data folder have in common.
enum MaintenanceOutput {
  /// The data folder that `--data` names, read beside the server that may have it.
  static func besideStore(_ arguments: Arguments) throws -> Store {
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is required: the origin's data folder")
    }
    var options = Store.Options()
    options.isSecondary = true
    return try Store(path: data, options: options)
  }
}

/// Says which files are damaged, and what to publish again.
enum DamageOutput {
  /// One line for each URL, and for bytes that no live URL has one line for each digest.
  static func tell(
    _ damaged: [SHA256], _ urls: [DamagedURL], _ what: String, _ arguments: Arguments, _ terminal: Terminal
  ) {
    if damaged.isEmpty { return }
    terminal.note("\(what): \(Count.text(damaged.count, "file")); everything else is intact")
    let listed = Set(urls.map(\.sha256))
    let lines =
      urls.map { "publish again: \($0.url) (\($0.app) \($0.channel), bundle \($0.bundle))" }
      + damaged.filter { !listed.contains($0) }.map { "in older versions only: \($0.hex)" }
    terminal.note(list: lines, all: arguments.has("all"))
  }

  /// What ends a command that did all it could; nil where nothing is damaged.
  static func failure(_ damaged: [SHA256], _ outcome: String) -> Failure? {
    damaged.isEmpty
      ? nil
      : Failure(
        "\(Count.text(damaged.count, "damaged file")) \(outcome); publish "
          + "\(damaged.count == 1 ? "its" : "their") URLs again", name: "damaged")
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
