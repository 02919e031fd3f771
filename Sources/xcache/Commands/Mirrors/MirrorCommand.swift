import Manifests
import Mirror
import Publishing
import System

/// `xcache mirror`: writes or checks a static copy, or tells of those that an origin knows.
enum MirrorCommand {
  static let command = Command(
    name: "mirror", operands: "[verify DIR|URL | list | forget NAME]",
    summary: "write a complete static copy of an origin, or check one",
    examples: [
      .init("--data /srv/xcache --to /srv/www --prune", "beside the running server"),
      .init("--server https://origin.example.com --to s3://bucket/hxm", "from another machine"),
      .init("verify https://cdn.example.com/hxm --max-age 3600", "read all of a copy back"),
    ],
    notes: """
      Every channel of every app is copied; --channel and --app narrow that, and with a token that may read only some,
      it is those. Whatever else is in the copy stays as it is, with --prune, too. verify holds the copy against the
      origin's list where it is told the origin (--server or XCACHE_SERVER with a token, or --data), and names what is
      missing.
      The origin's gc keeps what a copy names for 90 days after its last run, and for 7 days after its token ended.
      list tells which copies have registered so; forget NAME drops one that is gone (its owner's token, or an admin's).
      Only what is missing is copied; a reader of the copy sees a whole older or a whole newer state at any moment,
      also when a run is ended half-way: the next one goes on. The copy's root answers to the public URL.
      Of an S3-compatible store, the keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
      --hard-link saves the space of a second copy, but a program that writes into a file of the web root then damages
      the origin's own bytes; share the bytes by a file system with reflinks (XFS, btrfs) instead, which needs no flag.
      """,
    options: Command.remote + [
      .value("to", "DIR|S3-URL", "the copy: a folder, or s3://bucket/prefix (needed)").only(""),
      .value(
        "data", "DIR", environment: "XCACHE_DATA", "the origin's data folder, also beside a running server"),
      .value("channel", "NAME", "only channels of this name; may be repeated (default: all)"),
      .value("app", "NAME", "only channels of this app; may be repeated (default: all)"),
      .value("keep", "N", "patches from the last N versions (default: 5)").only(""),
      .flag("zips", "the zips of these versions, and those from each to the newest, too").only(""),
      .flag("prune", "remove what no kept version of these channels has named for the grace time").only(""),
      .value("grace", "HOURS", "how long that stays (default: 24)").only(""),
      .flag("precompressed", "write .gz and .zst files beside what they make smaller").only(""),
      .flag("hard-link", "link files into the copy instead of copying them; see below").only(""),
      .flag("repair", "read every file back, and write those anew that are wrong").only(""),
      .value("max-age", "SECONDS", "verify: how long ago the last run may be").only("verify"),
      .flag("strict", "verify: let warnings, such as wrong content types, count as errors").only("verify"),
      .value("name", "TEXT", "what the origin calls this copy (default: where it is)").only(""),
      Command.all,
    ] + s3Options,
    run: run)

  /// Options of every command that may reach an S3-compatible store.
  static let s3Options: [Option] = [
    .value("endpoint", "URL", "the S3-compatible store's address (default: AWS_ENDPOINT_URL, else Amazon's)"),
    .value("region", "NAME", "the store's region (default: AWS_REGION, else us-east-1)"),
  ]

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "verify": return try MirrorVerify.run(arguments, terminal)
    case "list": return try MirrorRegistrations.list(arguments, terminal)
    case "forget": return try MirrorRegistrations.forget(arguments, terminal)
    default: _ = try arguments.operands()
    }
    let progress = ProgressLine(terminal)
    let run = try MirrorRun(
      from: try source(arguments), to: try place(arguments), try options(arguments)
    ) { done in
      progress.show("copying", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    let report = try run.run()
    terminal.endProgress()
    let failure =
      report.isWhole
      ? nil
      : Failure(
        "damaged or gone at the origin: files that \(report.stopped.isEmpty ? "zips" : "channels") need; publish them "
          + "again, then run this again", name: "damaged")
    if arguments.has("json") {
      terminal.say(json: report.json, failure)
    } else {
      terminal.say(list: report.channelLines, all: arguments.has("all"))
      for line in report.lines { terminal.say(line) }
    }
    tellDamage(report, arguments, terminal)
    return failure?.code ?? .done
  }

  private static func tellDamage(_ report: MirrorReport, _ arguments: Arguments, _ terminal: Terminal) {
    for channel in report.stopped {
      terminal.note(
        "\(channel): stays in the copy as it was, since files of it are damaged or gone at the origin; publish them "
          + "again, then run this again")
    }
    for path in report.lostZips {
      terminal.note("\(path): left out, since the origin can't make it of damaged files")
    }
    DamageOutput.tell(
      report.damaged, report.damagedURLs, "damaged or gone at the origin and not copied", arguments, terminal)
  }

  private static func source(_ arguments: Arguments) throws -> any MirrorSource {
    if let source = try knownSource(arguments) { return source }
    throw UsageError("what is to be mirrored? Give --data DIR or --server URL")
  }

  /// The origin that flags, environment or `xcache.json` tell of.
  /// - Parameter attempts: how often a server is asked that doesn't answer.
  static func knownSource(_ arguments: Arguments, attempts: Int = 6) throws -> (any MirrorSource)? {
    if let data = try arguments.value("data"), arguments.all("server").isEmpty {
      return try DataSource(data: data)
    }
    let remote = try RemoteOrigin(arguments, namesApp: false, namesChannel: false)
    return remote.settings.server.map {
      ServerSource(
        server: $0, token: remote.settings.token, tokenSource: remote.tokenSource, attempts: attempts,
        http: remote.http)
    }
  }

  /// What `--app` and `--channel` narrow a command to.
  static func selection(_ arguments: Arguments) throws -> ChannelSelection {
    ChannelSelection(
      apps: Set(try arguments.all("app").map { try SettingsValue.app($0, in: "--app") }),
      channels: Set(try arguments.all("channel").map { try SettingsValue.channel($0, in: "--channel") }))
  }

  static func place(_ arguments: Arguments) throws -> MirrorPlace {
    guard let text = try arguments.value("to") else {
      throw UsageError("--to DIR is needed: the copy's folder")
    }
    guard text.hasPrefix("s3://") else { return .folder(text, hardLinks: arguments.has("hard-link")) }
    return .s3(try s3(text, arguments))
  }

  static func s3(_ place: String, _ arguments: Arguments) throws -> S3Settings {
    try S3Settings(
      place, endpoint: try arguments.value("endpoint"), from: arguments.source("endpoint"),
      region: try arguments.value("region"),
      environment: arguments.environment, http: arguments.http())
  }

  private static func options(_ arguments: Arguments) throws -> MirrorOptions {
    var options = MirrorOptions()
    options.selection = try selection(arguments)
    options.keep = try arguments.number("keep", in: 0...1000) ?? options.keep
    options.prunes = arguments.has("prune")
    if let hours = try arguments.number("grace", in: 0...100_000) { options.grace = Int64(hours) * 3_600_000 }
    options.zips = arguments.has("zips")
    options.precompressed = arguments.has("precompressed")
    options.repairs = arguments.has("repair")
    options.name = try arguments.value("name")
    return options
  }
}

extension MirrorReport {
  fileprivate var isWhole: Bool { stopped.isEmpty && lostZips.isEmpty }

  fileprivate var channelLines: [String] {
    channels.map { "\($0.app) \($0.channel): version \($0.version)" }
      + gone.map { "\($0): the origin doesn't have it any more, so the copy doesn't name it any more" }
  }

  fileprivate var lines: [String] {
    var lines: [String] = []
    if let words = readable.message {
      lines.append("the token may read \(words) only; nothing else was touched")
    }
    let whole = Set(untouched).subtracting(unfinished)
    if !whole.isEmpty { lines.append("left as it was: \(whole.list)") }
    lines += unfinished.map {
      "\($0): a run was ended before it was done with it; a run without --channel and --app puts that right"
    }
    if !leftOut.isEmpty { lines.append("not in the copy: \(leftOut.list)") }
    lines.append(
      written > 1
        ? "\(Count.text(written, "file")) written, \(Bytes.text(writtenBytes)); \(Count.text(files, "file")), \(Bytes.text(bytes)) in all"
        : "nothing was missing: \(Count.text(files, "file")), \(Bytes.text(bytes))")
    if zipsToCome > 0 {
      lines.append(
        "\(Count.text(zipsToCome, "zip")) of updates \(zipsToCome == 1 ? "waits" : "wait") until the origin has made their deltas; run again then"
      )
    }
    if putsOffPruning {
      lines.append(
        "nothing was removed: no mirror.json told what is the copy's; now one does, and the grace time runs")
    }
    if removed > 0 { lines.append("\(Count.text(removed, "file")) removed") }
    if leaving > 0 {
      lines.append(
        "\(Count.text(leaving, "file")) \(leaving == 1 ? "is" : "are") named by no kept version; --prune removes them in time"
      )
    }
    return lines
  }

  fileprivate var json: JSONValue {
    [
      "bytes": .integer(bytes),
      "channels": .array(
        channels.map {
          [
            "app": .string($0.app.text), "channel": .string($0.channel.text),
            "version": .string($0.version.text),
          ]
        }),
      "damaged": .strings(damaged.map(\.hex)), "damagedURLs": .array(damagedURLs.map(\.json)),
      "files": .integer(files), "gone": .array(gone.map(\.json)), "leaving": .integer(leaving),
      "leftOut": .array(leftOut.map(\.json)), "lostZips": .strings(lostZips), "place": .string(place),
      "removed": .integer(removed), "stopped": .array(stopped.map(\.json)),
      "unfinished": .array(unfinished.map(\.json)),
      "untouched": .array(untouched.map(\.json)), "written": .integer(written),
      "writtenBytes": .integer(writtenBytes),
      "zipsToCome": .integer(zipsToCome),
    ]
  }
}

extension Collection where Element == MirroredChannel {
  /// `mall online, shop test`
  var list: String { sorted().map(\.description).joined(separator: ", ") }
}
