import Store
import System
import Values

/// What the commands that work on a data folder share.
enum MaintenanceOutput {
  /// Opens the data folder in `--data`, which a server may have open, too.
  static func sharedStore(_ arguments: Arguments) throws -> Store {
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is required: the origin's data folder")
    }
    var options = Store.Options()
    options.isSecondary = true
    return try Store(path: data, options: options)
  }

  /// Opens the data folder of a stopped origin, for a task that a running one does itself; `act` is the command that requests it
  /// there.
  static func ownStore(_ data: String, _ arguments: Arguments, _ act: String) throws -> Store {
    if !arguments.all("data").isEmpty, !arguments.all("server").isEmpty {
      throw UsageError("give either --data, for a folder without a running server, or --server, not both")
    }
    var options = Store.Options()
    options.creates = false
    do {
      return try Store(path: data, options: options)
    } catch {
      guard case .inUse(let path, let process) = error else { throw error }
      let holder = process.map { "process \($0)" } ?? "another process"
      throw Failure(
        "\(path) is in use by \(holder): use the running server (\(act) --server URL), or stop it first"
      )
    }
  }
}

/// Prints which files are damaged, and what to publish again.
enum DamageOutput {
  /// Prints one line per URL, or per digest for bytes that no live URL has.
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

  /// Returns the failure that ends a command that did everything it could, or nil if nothing is damaged.
  static func failure(_ damaged: [SHA256], _ outcome: String) -> Failure? {
    damaged.isEmpty
      ? nil
      : Failure(
        "\(Count.text(damaged.count, "damaged file")) \(outcome); publish "
          + "\(damaged.count == 1 ? "its" : "their") URLs again with --rehash", name: "damaged")
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
