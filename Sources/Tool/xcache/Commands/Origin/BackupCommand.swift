import Publishing
import Store
import Values

/// `xcache backup`: copies a data folder while its server may be running.
enum BackupCommand {
  static let command = Command(
    name: "backup", operands: "", summary: "back up a data folder, even while its server is running",
    examples: [
      .init("--data /srv/xcache --to /backup/xcache", "later runs copy only what is new"),
      .init("--data /srv/xcache --to /backup/xcache --verify", "read everything back as well"),
    ],
    notes: """
      If --to holds an older backup of the same origin, only new files are copied. A backup that is interrupted leaves
      the previous one intact. Files share blocks where the file system supports it and are copied otherwise. 'xcache
      doctor --deep --data BACKUP' checks a backup; 'xcache restore --from-backup BACKUP --data NEW' makes a data
      folder of it. The file with the admin token is not copied; tokens themselves are in the database, as hashes.
      The database's structure and the kept manifests are checked; if they are damaged, the previous backup is kept.
      Every copied file is read back. Files of earlier runs are read back within 7 days, some in each run, and copied
      again if they are damaged; --verify reads all of them now. A file that is damaged at the origin is named with
      the URLs to publish again, and left out unless the backup has a good copy; the rest of the backup is good. Exit
      code 1: something is damaged.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (required)"),
      .value("to", "DIR", "the backup's folder (required)"),
      .flag("verify", "also read back all files of earlier runs"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let target = try arguments.value("to") else {
      throw UsageError("--to DIR is required: the backup's folder")
    }
    let store = try MaintenanceOutput.sharedStore(arguments)
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
          + "\(report.kept) already there, \(report.removed) removed, database \(Bytes.text(report.databaseBytes))"
      )
      if report.verified > 0 {
        terminal.say(
          "read back \(Count.text(report.verified, "file")) of earlier runs; \(report.repaired) were damaged and copied again"
        )
      }
      DamageOutput.tell(
        report.damaged, report.damagedURLs, "damaged at the origin and left out of the backup", arguments,
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
