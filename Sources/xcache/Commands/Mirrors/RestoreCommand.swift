import Manifests
import Mirror
import Publishing
import Store

/// `xcache restore`: an origin from a static copy.
enum RestoreCommand {
  static let command = Command(
    name: "restore", operands: "", summary: "make an origin of a backup or of a static copy",
    examples: [
      .init("--from-backup /backup/xcache --data /srv/new", "everything, tokens too"),
      .init("--from https://cdn.example.com/hxm --data /srv/new", "what a static copy has"),
    ],
    notes: """
      --from-backup: everything, as the backup has it; every byte is checked on the way.
      A file that is missing or damaged in the backup or the copy is left out: its URLs are named, answer 500, and come
      back when their bundles are published again. Exit code 1: there are such files; everything else is restored and
      can be served.
      --from: of a static copy alone:
      Every document is compared with mirror.json. Where one is damaged or missing, its version, or its channel where it is
      one of the newest version or the channel's own, is left out and named (exit code 1).
      All channels of the copy, the versions that it keeps, resources, bundles, prefetch configs and policies come back;
      devices see the same bytes. It prints the channels, and those that mirror.json says were left out of the copy.
      Versions go on at least 1,000 higher. Who published, why, and tokens are in no copy: a new admin token is written
      to DIR/admin.token.
      """,
    options: [
      .value("from-backup", "DIR", "the folder that `xcache backup` wrote"),
      .value("from", "DIR|URL", "a static copy: a folder, an http(s) URL, or s3://bucket/prefix"),
      .value("data", "DIR", environment: "XCACHE_DATA", "the new origin's data folder (needed)"),
      Command.certificates, Command.all,
    ] + MirrorCommand.s3Options,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is needed: where the new origin is kept")
    }
    switch (try arguments.value("from-backup"), try arguments.value("from")) {
    case (let backup?, nil): return try restore(backup: backup, to: data, arguments, terminal)
    case (nil, let copy?): return try restore(copy: copy, to: data, arguments, terminal)
    default: throw UsageError("one of --from-backup DIR and --from DIR|URL is needed: what to restore")
    }
  }

  private static func restore(
    backup source: String, to data: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let progress = ProgressLine(terminal)
    let report = try Restore.restore(backup: source, to: data) { done, all in
      progress.show("restoring", done, of: all)
    }
    terminal.endProgress()
    let failure = DamageOutput.failure(report.damaged, "missing from what was restored")
    if arguments.has("json") {
      terminal.say(json: report.json, failure)
    } else {
      terminal.say(
        "restored \(Count.text(report.copied, "file")) (\(Bytes.text(report.copiedBytes))) into \(data); "
          + "`xcache serve --data \(data)` runs it")
      DamageOutput.tell(
        report.damaged, report.damagedURLs, "missing or damaged in the backup", arguments, terminal)
    }
    return failure?.code ?? .done
  }

  private static func restore(
    copy place: String, to data: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let progress = ProgressLine(terminal)
    let restoration = Restoration(from: try MirrorVerify.reader(place, arguments)) { done in
      progress.show("restoring", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    let report = try restoration.restore(into: try Store(path: data))
    let folder = DataFolder(path: data)
    terminal.endProgress()
    let failure =
      report.isWhole
      ? nil
      : Failure(
        "the copy is damaged: what it lacks is named in damagedDocuments and damagedURLs; everything else is restored",
        name: "damaged")
    if arguments.has("json") {
      terminal.say(json: report.json(folder), failure)
      return failure?.code ?? .done
    }
    terminal.say(
      list: report.channels.map { "\($0.app) \($0.channel): version \($0.version)" },
      all: arguments.has("all"))
    for line in report.warnings { terminal.say(line) }
    terminal.note(list: report.damaged.map { "not restored: \($0)" }, all: arguments.has("all"))
    if !report.damaged.isEmpty {
      terminal.note(
        "another copy may have what wasn't restored (restore that one into a new folder), and where the old origin still "
          + "runs, `xcache mirror --repair` puts this one right")
    }
    terminal.say("\(Count.text(report.files, "file")), \(Bytes.text(report.bytes)) restored into \(data)")
    terminal.say("a new admin token is in \(folder.adminToken)")
    DamageOutput.tell(
      Array(Set(report.lost.map(\.sha256))), report.lost, "missing or damaged in the static copy", arguments,
      terminal)
    return failure?.code ?? .done
  }
}

extension Restoration.Report {
  fileprivate var warnings: [String] {
    var lines = unfinished.map {
      "\($0): a run of mirror was ended before it was done with it; devices may have seen a newer version"
    }
    if let leftOut {
      if !leftOut.isEmpty { lines.append("not restored, since it isn't in the copy: \(leftOut.list)") }
    } else {
      lines.append("the copy doesn't tell whether its origin had more channels")
    }
    return lines
  }

  fileprivate func json(_ folder: DataFolder) -> JSONValue {
    [
      "adminToken": .string(folder.adminToken), "bytes": .integer(bytes),
      "channels": .array(
        channels.map {
          [
            "app": .string($0.app.text), "channel": .string($0.channel.text),
            "version": .string($0.version.text),
          ]
        }),
      "damagedDocuments": .array(damaged.map(\.json)), "damagedURLs": .array(lost.map(\.json)),
      "files": .integer(files),
      "leftOut": leftOut.map { .array($0.map(\.json)) } ?? .null,
      "unfinished": .array(unfinished.map(\.json)),
    ]
  }
}
