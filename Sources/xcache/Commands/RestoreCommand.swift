import Manifests
import Mirror
import Platform
import Store

/// `xcache restore`: an origin from a static copy.
enum RestoreCommand {
  static let command = Command(
    name: "restore", operands: "", summary: "make an origin of a static copy",
    notes: """
      All channels of the copy, the versions that it keeps, resources, bundles, prefetch configs and policies come back;
      devices see the same bytes. Versions go on at least 1,000 higher. Who published, why, and tokens are in no copy:
      a new admin token is written to DIR/admin.token.
      """,
    options: [
      .value("from", "DIR|URL", "the copy: a folder, an http(s) URL, or s3://bucket/prefix (needed)"),
      .value("data", "DIR", environment: "XCACHE_DATA", "the new origin's data folder (needed)"),
    ] + MirrorCommand.s3Options,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let place = try arguments.value("from") else {
      throw UsageError("--from DIR or URL is needed: the copy")
    }
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is needed: where the new origin is kept")
    }
    let restoration = Restoration(from: try MirrorVerify.reader(place, arguments)) { done in
      terminal.progress(
        Bar.line("restoring", done.bytes, of: done.bytesTotal, "\(done.files) of \(done.filesTotal) files"))
    }
    defer { terminal.endProgress() }
    let store = try Store(path: data)
    let report = try restoration.restore(into: store)
    terminal.endProgress()
    if arguments.has("json") {
      terminal.say(String(decoding: report.json(store.folder).canonical, as: UTF8.self))
      return .done
    }
    for channel in report.channels {
      terminal.say("\(channel.app) \(channel.channel): version \(channel.version)")
    }
    terminal.say("\(report.files) files, \(Bytes.text(report.bytes)) restored into \(data)")
    terminal.say("a new admin token is in \(store.folder.adminToken)")
    return .done
  }
}

extension Restoration.Report {
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
      "files": .integer(files),
    ]
  }
}
