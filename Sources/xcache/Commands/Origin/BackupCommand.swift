import Manifests
import Publishing
import Store

/// `xcache backup`: a copy of a data folder, taken while its server runs.
enum BackupCommand {
  static let command = Command(
    name: "backup", operands: "", summary: "copy a data folder, also while its server runs",
    examples: [
      .init("--data /srv/xcache --to /backup/xcache", "the second time only what is new"),
      .init("--data /srv/xcache --to /backup/xcache --verify", "and read all of it back"),
    ],
    notes: """
      Where the folder of --to has an older backup of the same origin, only what is new is copied. A backup that is
      stopped leaves the one from before. Files are shared where the file system can share blocks, else copied.
      `xcache doctor --deep --data BACKUP` checks a backup, `xcache restore --from-backup BACKUP --data NEW` makes a
      data folder of it. The admin token's file is not copied; tokens themselves are part of the database, as hashes.

      The database's structure and the kept manifests are checked; where they are damaged, the backup from before
      stays. Every file is read back after it was copied. What is there from an earlier run is read back within 7 days,
      a part of it in each run, and copied anew where it is bad; --verify reads all of it now. A file that is damaged
      at the origin is named with the URLs to publish again, and left out unless the backup has a good copy; the rest is a good
      backup. Exit code 1: something is damaged.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (needed)"),
      .value("to", "DIR", "the folder of the backup (needed)"),
      .flag("verify", "read back everything that is there from earlier runs"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let target = try arguments.value("to") else {
      throw UsageError("--to DIR is needed: the folder of the backup")
    }
    let store = try MaintenanceOutput.besideStore(arguments)
    let progress = ProgressLine(terminal)
    let report = try store.backUp(to: target, verify: arguments.has("verify")) { done, all in
      progress.show("copying", done, of: all)
    }
    terminal.endProgress()
    let failure = DamageOutput.failure(report.damaged, "left out of the backup")
    if arguments.has("json") {
      terminal.say(json: report.json, failure)
    } else {
      terminal.say(
        "backed up to \(target): \(Count.text(report.copied, "file")) copied (\(Bytes.text(report.copiedBytes))), "
          + "\(report.kept) there already, \(report.removed) removed, database \(Bytes.text(report.databaseBytes))"
      )
      if report.verified > 0 {
        terminal.say(
          "read back \(Count.text(report.verified, "file")) of earlier runs; \(report.repaired) were bad and copied anew"
        )
      }
      DamageOutput.tell(
        report.damaged, report.damagedURLs, "damaged at the source and left out of the backup", arguments,
        terminal)
    }
    return failure?.code ?? .done
  }
}

extension BackupReport {
  var json: JSONValue {
    [
      "copied": .integer(copied), "copiedBytes": .integer(copiedBytes),
      "damaged": .strings(damaged.map(\.hex)), "damagedURLs": .array(damagedURLs.map(\.json)),
      "databaseBytes": .integer(databaseBytes), "kept": .integer(kept), "removed": .integer(removed),
      "repaired": .integer(repaired), "verified": .integer(verified),
    ]
  }
}
