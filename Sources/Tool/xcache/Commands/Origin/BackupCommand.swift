import Publishing
import Store
import System
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
      Nor are the keys with which the origin signs heads (DATA/keys), unless --with-keys asks for it: whoever has one can
      sign heads. A passphrase encrypts them, which a restore needs again: the first line of --key-passphrase-file, or
      XCACHE_KEY_PASSPHRASE. --no-passphrase copies them as they are, for a backup that is encrypted as a whole.
      The database's structure and the kept manifests are checked; if they are damaged, the previous backup is kept.
      Every copied file is read back. Files of earlier runs are read back within 7 days, some in each run, and copied
      again if they are damaged; --verify reads all of them now. A file that is damaged at the origin is named with
      the URLs to publish again, and left out unless the backup has a good copy; the rest of the backup is good. Exit
      code 1: something is damaged.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (required)"),
      .value("to", "DIR", "the backup's folder (required)"),
      .flag("verify", "also read back all files of earlier runs"),
      .flag("with-keys", "also copy the keys for heads, encrypted with a passphrase"),
      KeyPassphrase.option, .flag("no-passphrase", "with --with-keys: don't encrypt the keys"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let target = try arguments.value("to") else {
      throw UsageError("--to DIR is required: the backup's folder")
    }
    let keys = try protection(arguments)
    let store = try MaintenanceOutput.sharedStore(arguments)
    let progress = ProgressLine(terminal)
    let report = try store.backUp(to: target, verify: arguments.has("verify"), keys: keys) { done, all in
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
      if report.keys > 0 { terminal.say("\(Count.text(report.keys, "key")) for heads copied") }
      if report.keysLeft > 0 {
        terminal.remark(
          "the keys for heads are not in the backup; --with-keys copies them. Without them, a restored origin signs no head until "
            + "`xcache trust rotate-head` has named a new one")
      }
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

  private static func protection(_ arguments: Arguments) throws -> KeyProtection? {
    guard arguments.has("with-keys") else {
      if arguments.has("no-passphrase") || !arguments.all(KeyPassphrase.option.name).isEmpty {
        throw UsageError("--no-passphrase and --key-passphrase-file can only be used with --with-keys")
      }
      return nil
    }
    if arguments.has("no-passphrase") {
      guard arguments.all(KeyPassphrase.option.name).isEmpty else {
        throw UsageError("give --key-passphrase-file or --no-passphrase, not both")
      }
      return KeyProtection.none
    }
    guard let passphrase = try KeyPassphrase.given(arguments) else {
      throw UsageError(
        "--with-keys needs a passphrase: --key-passphrase-file FILE, or \(KeyPassphrase.variable); --no-passphrase copies the keys as "
          + "they are")
    }
    return .passphrase(passphrase)
  }
}

/// The passphrase of the keys for heads in a backup.
enum KeyPassphrase {
  static let variable = "XCACHE_KEY_PASSPHRASE"
  static let option = Option.value(
    "key-passphrase-file", "FILE", "the passphrase of the keys in the backup: the first line of this file")

  /// Returns the passphrase; nil if none was given.
  static func given(_ arguments: Arguments) throws -> [UInt8]? {
    if let path = try arguments.value(option.name) {
      guard let bytes = try DurableFile.read(path, limit: 1 << 16) else {
        throw Failure("--key-passphrase-file \(path): no such file", code: .usage, name: "settings")
      }
      let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
      guard !line.isEmpty else {
        throw Failure(
          "--key-passphrase-file \(path): its first line is empty", code: .usage, name: "settings")
      }
      return Array(line)
    }
    return arguments.environment[variable].flatMap { $0.isEmpty ? nil : Array($0.utf8) }
  }
}

extension BackupReport {
  var json: JSONValue {
    [
      "copied": .integer(copied), "copiedBytes": .integer(copiedBytes),
      "damaged": .strings(damaged.map(\.hex)), "damagedURLs": .array(damagedURLs.map(\.json)),
      "databaseBytes": .integer(databaseBytes), "kept": .integer(kept), "keys": .integer(keys),
      "keysLeftOut": .integer(keysLeft), "removed": .integer(removed),
      "repaired": .integer(repaired), "verified": .integer(verified),
    ]
  }
}
