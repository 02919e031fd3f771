import Mirror
import Publishing
import Store
import System
import Values

/// `xcache restore`: creates an origin from a static copy or a backup.
enum RestoreCommand {
  static let command = Command(
    name: "restore", operands: "", summary: "create an origin from a backup or a static copy",
    examples: [
      .init("--from-backup /backup/xcache --data /srv/new", "everything, including tokens"),
      .init("--from https://cdn.example.com/hxm --data /srv/new", "what a static copy contains"),
    ],
    notes: """
      A file that is missing or damaged in the backup or the copy is left out: its URLs are named and answer 500 until
      their bundles are published again. Exit code 1: there are such files; everything else is restored and can be
      served.
      --from-backup restores everything in the backup and checks every byte. Scheduled acts that wait in it are cancelled
      and printed, since the old origin may have carried them out, or may still do so; to move an origin that is stopped,
      --keep-scheduled lets them wait on.
      --from restores from a static copy alone. Every document is compared with mirror.json. If one is damaged or
      missing, its version is left out and named (exit code 1), or its whole channel if the document belongs to the
      newest version or to the channel itself. All channels of the copy come back with the versions, resources,
      bundles, prefetch configs and policies that it holds; devices see the same bytes. The channels are printed, and
      those that the copy left out, according to mirror.json. New versions are numbered at least 1,000 higher. A copy
      has no authors, messages or tokens: a new admin token is written to DIR/admin.token. In an app with a root, roots
      and signatures come back, too, but the keys with which the origin signs heads only from a backup that has them
      (backup --with-keys), with their passphrase: --key-passphrase-file, or XCACHE_KEY_PASSPHRASE.
      Before you restore an app with a root from a copy, run 'xcache mirror verify COPY --root root.json', with a root of
      its builds: restore takes the copy's first root for the app's.
      """,
    options: [
      .value("from-backup", "DIR", "the folder that 'xcache backup' wrote"),
      .value("from", "DIR|URL", "a static copy: a folder, an http(s) URL, or s3://bucket/prefix"),
      .value("data", "DIR", environment: "XCACHE_DATA", "the new origin's data folder (required)"),
      .flag("keep-scheduled", "with --from-backup: don't cancel scheduled acts that wait in the backup"),
      KeyPassphrase.option, Command.certificates, Command.all,
    ] + MirrorCommand.s3Options,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is required: the new origin's data folder")
    }
    switch (try arguments.value("from-backup"), try arguments.value("from")) {
    case (let backup?, nil): return try restore(backup: backup, to: data, arguments, terminal)
    case (nil, let copy?):
      if arguments.has("keep-scheduled") {
        throw UsageError("--keep-scheduled needs --from-backup: a static copy has no scheduled acts")
      }
      if !arguments.all(KeyPassphrase.option.name).isEmpty {
        throw UsageError("--key-passphrase-file needs --from-backup: a static copy has no keys")
      }
      return try restore(copy: copy, to: data, arguments, terminal)
    default: throw UsageError("give either --from-backup DIR or --from DIR|URL")
    }
  }

  private static func restore(
    backup source: String, to data: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let progress = ProgressLine(terminal)
    let keepsScheduled = arguments.has("keep-scheduled")
    let passphrase = try KeyPassphrase.given(arguments)
    if let passphrase, try !Restore.takesKeys(backup: source, passphrase: passphrase) {
      throw Failure(
        "nothing was restored: the keys in \(source)/keys have another passphrase", name: "passphrase")
    }
    let report = try Restore.restore(
      backup: source, to: data, keepsScheduled: keepsScheduled, keyPassphrase: passphrase
    ) { done, all in
      progress.show("restoring", done, of: all)
    }
    terminal.endProgress()
    let failure = DamageOutput.failure(report.damaged, "missing from the restored data")
    if arguments.has("json") {
      var json = report.json.object ?? JSONObject()
      json["scheduled"] = .array(report.scheduled.map(\.json))
      terminal.say(json: .object(json), failure)
    } else {
      terminal.say(
        "restored \(Count.text(report.copied, "file")) (\(Bytes.text(report.copiedBytes))) into \(data); "
          + "run it with 'xcache serve --data \(data)'")
      terminal.remark(
        "what was purged after this backup was made is back: purge it again; the URLs and reasons are in the old origin's "
          + "`xcache audit log`")
      if report.keys > 0 { terminal.say("\(Count.text(report.keys, "key")) for heads restored") }
      if report.keysLeft > 0 {
        terminal.note(
          "\(Count.text(report.keysLeft, "key")) for heads left out: restore again with their passphrase (--key-passphrase-file), or "
            + "name a new one with `xcache trust rotate-head`")
      }
      terminal.say(
        list: report.scheduled.map {
          "\(keepsScheduled ? "waits" : "cancelled"): \($0.what), due \(Timestamp.words($0.due))"
        },
        all: arguments.has("all"))
      if !report.scheduled.isEmpty {
        terminal.remark(
          keepsScheduled
            ? "they are carried out once `xcache serve` runs; where the old origin runs as well, by both"
            : "schedule what is still wanted again; to let all of it wait on, restore with --keep-scheduled")
      }
      DamageOutput.tell(
        report.damaged, report.damagedURLs, "missing or damaged in the backup", arguments, terminal)
    }
    return failure?.code ?? .done
  }

  private static func restore(
    copy place: String, to data: String, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    try DataFolder(path: data).refuseForeign()
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
          + "runs, `xcache mirror --repair --to DIR` repairs this one")
    }
    terminal.say("\(Count.text(report.files, "file")), \(Bytes.text(report.bytes)) restored into \(data)")
    terminal.say("the new admin token is in \(folder.adminToken)")
    if !report.roots.isEmpty {
      terminal.remark(
        "a copy has no keys: devices of \(report.roots.map(\.text).joined(separator: ", ")) get no new head, and so take no release, "
          + "until `xcache trust rotate-head` has named a key of this origin, and a new version has been released"
      )
    }
    DamageOutput.tell(
      Array(Set(report.lost.map(\.sha256))), report.lost, "missing or damaged in the static copy", arguments,
      terminal)
    return failure?.code ?? .done
  }
}

extension ScheduledAct {
  /// What it is, where, and by whom.
  var what: String { "\(summary) (\(app) \(channel)), by \(author)" }

  fileprivate var json: JSONValue {
    [
      "act": .string(act), "app": .string(app.text), "author": .string(author),
      "channel": .string(channel.text),
      "due": .string(Timestamp.text(due)), "id": .integer(id), "state": .string(state.rawValue),
      "summary": .string(summary),
    ]
  }
}

extension Restoration.Report {
  fileprivate var warnings: [String] {
    var lines = unfinished.map {
      "\($0): a mirror run was interrupted; devices may have seen a newer version"
    }
    if let leftOut {
      if !leftOut.isEmpty { lines.append("not in the copy and not restored: \(leftOut.list)") }
    } else {
      lines.append("the copy doesn't record whether the origin had more channels")
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
      "files": .integer(files), "roots": .strings(roots.map(\.text)),
      "leftOut": leftOut.map { .array($0.map(\.json)) } ?? .null,
      "unfinished": .array(unfinished.map(\.json)),
    ]
  }
}
