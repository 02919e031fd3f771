import Manifests
import Store

/// `xcache restore --from-backup`: a data folder made of a backup.
enum BackupRestore {
  static let notes = """
    Every byte is checked on the way. The newest version of each channel keeps its number and bytes; the next one is
    at least 1,000 higher, since devices may have seen versions that the backup doesn't know.
    """

  static let options: [Option] = [
    .value("from-backup", "FROM", "the folder that `xcache backup` wrote (needed)"),
    .value("data", "DIR", environment: "XCACHE_DATA", "the data folder to make (needed)"),
  ]

  @Sendable
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let source = try arguments.value("from-backup") else {
      throw UsageError("--from-backup FROM is needed: the folder of the backup")
    }
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is needed: the data folder to make")
    }
    let progress = ProgressLine(terminal)
    let report = try Restore.restore(backup: source, to: data) { done, all in
      progress.show("restoring", done, of: all, "\(Bytes.text(done)) of \(Bytes.text(all))")
    }
    terminal.endProgress()
    terminal.say(
      arguments.has("json")
        ? String(decoding: report.json.canonical, as: UTF8.self)
        : "restored \(report.copied) files (\(Bytes.text(report.copiedBytes))) into \(data); "
          + "`xcache serve --data \(data)` runs it")
    return .done
  }
}
