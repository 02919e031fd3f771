import Manifests
import Store

/// `xcache backup`: a copy of a data folder, taken while its server runs.
enum BackupCommand {
  static let command = Command(
    name: "backup", operands: "", summary: "copy a data folder, also while its server runs",
    notes: """
      Where TO holds an older backup of the same origin, only what is new is copied. A backup that is stopped leaves
      the one from before. Files are shared where the file system can share blocks, else copied. `xcache doctor --deep
      --data TO` checks a backup, `xcache restore --from-backup TO --data DIR` makes a data folder of it. The admin
      token's file is not copied; tokens themselves are part of the database, as hashes.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (needed)"),
      .value("to", "TO", "the folder of the backup (needed)"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let target = try arguments.value("to") else {
      throw UsageError("--to TO is needed: where the backup goes")
    }
    let store = try KeepingWords.besideStore(arguments)
    let progress = ProgressLine(terminal)
    let report = try store.backUp(to: target) { done, all in
      progress.show("copying", done, of: all, "\(Bytes.text(done)) of \(Bytes.text(all))")
    }
    terminal.endProgress()
    if arguments.has("json") {
      terminal.say(String(decoding: report.json.canonical, as: UTF8.self))
    } else {
      terminal.say(
        "backed up to \(target): \(report.copied) files copied (\(Bytes.text(report.copiedBytes))), "
          + "\(report.kept) there already, \(report.removed) removed, database \(Bytes.text(report.databaseBytes))"
      )
      for sha256 in report.damaged {
        terminal.note("damaged at the source and left out: \(sha256.hex); publish that file again")
      }
    }
    return report.damaged.isEmpty ? .done : .failed
  }
}

extension BackupReport {
  var json: JSONValue {
    [
      "copied": .integer(copied), "copiedBytes": .integer(copiedBytes),
      "damaged": .strings(damaged.map(\.hex)), "databaseBytes": .integer(databaseBytes),
      "kept": .integer(kept),
      "removed": .integer(removed),
    ]
  }
}
