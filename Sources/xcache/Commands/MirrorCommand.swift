import Manifests
import Mirror
import Platform
import Publishing

/// `xcache mirror`: writes or checks a static copy.
enum MirrorCommand {
  static let command = Command(
    name: "mirror", operands: "[verify DIR|URL]",
    summary: "write a complete static copy of an origin, or check one",
    notes: """
      From the data folder:    xcache mirror --data /srv/xcache --to /srv/www
      From a running origin:   xcache mirror --server https://origin.example.com --to public
      Reading all of it back:  xcache mirror verify /srv/www   or   xcache mirror verify https://cdn.example.com/hxm
      Only what is missing is copied; a reader of the copy sees a whole older or a whole newer state at any moment,
      also when a run is ended half-way: the next one goes on. The copy's root answers to the public URL.
      Of an S3-compatible store, the keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
      --hard-link saves the space of a second copy, but a program that writes into a file of the web root then damages
      the origin's own bytes; share the bytes by a file system with reflinks (XFS, btrfs) instead, which needs no flag.
      """,
    options: Command.remote + [
      .value("to", "DIR|S3-URL", "the copy: a folder, or s3://bucket/prefix (needed)"),
      .value(
        "data", "DIR", environment: "XCACHE_DATA", "the origin's data folder, also beside a running server"),
      .value("channel", "NAME", "the channel; may be repeated (default: online)"),
      .value("keep", "N", "patches from the last N versions (default: 5)"),
      .flag("zips", "the zips of these versions, and those from each to the newest, too"),
      .flag("prune", "remove what no kept version has named for the grace time"),
      .value("grace", "HOURS", "how long that stays (default: 24)"),
      .flag("precompressed", "write .gz and .zst files beside what they make smaller"),
      .flag("hard-link", "link files into the copy instead of copying them; see below"),
      .flag("repair", "read every file back, and write those anew that are wrong"),
      .value("max-age", "SECONDS", "verify: how long ago the last run may be"),
      .flag("strict", "verify: let warnings, such as wrong content types, count as errors"),
      .value("name", "TEXT", "what the origin calls this copy (default: where it is)"),
    ] + s3Options,
    run: run)

  /// Options of every command that may reach an S3-compatible store.
  static let s3Options: [Option] = [
    .value("endpoint", "URL", "the S3-compatible store's address (default: AWS_ENDPOINT_URL, else Amazon's)"),
    .value("region", "NAME", "the store's region (default: AWS_REGION, else us-east-1)"),
  ]

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.first == "verify" { return try MirrorVerify.run(arguments, terminal) }
    _ = try arguments.operands()
    let run = try MirrorRun(
      from: try source(arguments), to: try place(arguments), try options(arguments)
    ) { done in
      terminal.progress(
        Bar.line("copying", done.bytes, of: done.bytesTotal, "\(done.files) of \(done.filesTotal) files"))
    }
    defer { terminal.endProgress() }
    let report = try run.run()
    terminal.endProgress()
    if arguments.has("json") {
      terminal.say(String(decoding: report.json.canonical, as: UTF8.self))
    } else {
      for line in report.lines { terminal.say(line) }
    }
    return .done
  }

  private static func source(_ arguments: Arguments) throws -> any MirrorSource {
    if let data = try arguments.value("data"), arguments.all("server").isEmpty {
      return try DataSource(data: data)
    }
    let remote = try RemoteOrigin(arguments, namesChannel: false)
    guard remote.settings.server != nil else {
      throw UsageError("what is to be mirrored? Give --data DIR or --server URL")
    }
    return ServerSource(server: try remote.server, token: remote.settings.token)
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
      place, endpoint: try arguments.value("endpoint"), region: try arguments.value("region"),
      environment: Environment.variables)
  }

  private static func options(_ arguments: Arguments) throws -> MirrorOptions {
    var options = MirrorOptions()
    let channels = try arguments.all("channel").map { try SettingsValue.channel($0, in: "--channel") }
    if !channels.isEmpty { options.channels = Set(channels) }
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
  fileprivate var lines: [String] {
    var lines = channels.map { "\($0.app) \($0.channel): version \($0.version)" }
    lines.append(
      written > 1
        ? "\(written) files written, \(Bytes.text(writtenBytes)); \(files) files, \(Bytes.text(bytes)) in all"
        : "nothing was missing: \(files) files, \(Bytes.text(bytes))")
    if zipsToCome > 0 {
      lines.append(
        "\(zipsToCome) zips of updates wait until the origin has made their deltas; run again then")
    }
    if removed > 0 { lines.append("\(removed) files removed") }
    if leaving > 0 {
      lines.append("\(leaving) files are named by no kept version; --prune removes them in time")
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
      "files": .integer(files), "leaving": .integer(leaving), "place": .string(place),
      "removed": .integer(removed), "written": .integer(written), "writtenBytes": .integer(writtenBytes),
      "zipsToCome": .integer(zipsToCome),
    ]
  }
}
