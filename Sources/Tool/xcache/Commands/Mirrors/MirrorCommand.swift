import Manifests
import Mirror
import Publishing
import System
import Values

/// `xcache mirror`: writes or verifies a static copy, or lists those that an origin knows.
enum MirrorCommand {
  static let command = Command(
    name: "mirror", operands: "[verify DIR|URL | list | forget NAME]",
    summary: "write or verify a static copy of an origin",
    examples: [
      .init("--data /srv/xcache --to /srv/www --prune", "while the server is running"),
      .init("--server https://origin.example.com --to s3://bucket/hxm", "from another machine"),
      .init("verify https://cdn.example.com/hxm --max-age 3600", "read a whole copy back"),
      .init("--sign-head head.key --to /srv/www", "keep a copy's heads new while its origin is gone"),
    ],
    notes: """
      All channels of all apps are copied. --channel and --app limit that, and so does a token that may read only
      some. Everything else in the copy is left alone, even with --prune. verify compares the copy with the origin's
      list if an origin is given (--server or XCACHE_SERVER with a token, or --data), and names what is missing.
      The origin's gc keeps what a copy needs for 90 days after its last run, and for 7 days after its token ended.
      list prints the registered copies; forget NAME removes one that no longer exists (with its own token or an
      admin's). If NAME is the place of `serve --cdn push`, an admin's forget also makes the origin upload everything
      again that releases name.
      Only missing files are copied. At any moment, readers of the copy see either the old or the new state, even if a
      run is interrupted; the next run continues it. The copy's root corresponds to the public URL.
      In an app with a root, verify checks signatures as devices do. They begin with the root that the app was built
      with: give it with --root, else verify begins with the copy's first root, which only shows that the copy is
      consistent. --sign-head signs new heads with a key that the root lists: give it one that the lost origin doesn't
      have, and run it once a day. A passphrase comes from XCACHE_SIGN_PASSPHRASE or is asked for.
      The keys of an S3-compatible store come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
      --hard-link saves the space of a second copy, but a program that writes to a file of the web root then damages
      the origin's own data. On file systems with reflinks (XFS, btrfs) blocks are shared anyway, without this option.
      """,
    options: Command.remote + [
      .value("to", "DIR|S3-URL", "where the copy goes: a folder or s3://bucket/prefix (required)").only(""),
      .value(
        "data", "DIR", environment: "XCACHE_DATA", "the origin's data folder; its server may be running"),
      .value("channel", "NAME", "only channels with this name; repeatable (default: all)"),
      .value("app", "NAME", "only channels of this app; repeatable (default: all)"),
      .value("keep", "N", "write patches from the last N versions (default: 5)").only(""),
      .flag("zips", "also write zip files of these versions, and of the update from each to the newest").only(
        ""),
      .flag("prune", "remove files that no kept version has used for the grace period").only(""),
      .value("grace", "HOURS", "the grace period of --prune (default: 24)").only(""),
      .flag("precompressed", "also write .gz and .zst files where they are smaller").only(""),
      .flag("allow-others", "begin a copy in a folder that has other files, which stay and are served").only(
        ""),
      .flag("hard-link", "hard-link files instead of copying them; see below").only(""),
      .flag("repair", "read every file back and rewrite damaged ones").only(""),
      .value(
        "sign-head", "FILE", "only sign new heads for what the copy has, with this key; needs no origin"
      ).only(""),
      .value("root", "FILE", "the root that an app is built with; one for each app (verify, --sign-head)")
        .only(
          "", "verify"),
      .value("max-age", "SECONDS", "verify: fail if the last run is older").only("verify"),
      .flag("strict", "verify: treat warnings, such as wrong content types, as errors").only("verify"),
      .value("name", "TEXT", "the copy's name at the origin (default: its location)").only(""),
      Command.all,
    ] + s3Options,
    run: run)

  /// The options of every command that can use an S3-compatible store.
  static let s3Options: [Option] = [
    .value("endpoint", "URL", "the S3-compatible store's URL (default: AWS_ENDPOINT_URL, else Amazon S3)"),
    .value("region", "NAME", "the store's region (default: AWS_REGION, or us-east-1)"),
  ]

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "verify": return try MirrorVerify.run(arguments, terminal)
    case "list": return try MirrorRegistrations.list(arguments, terminal)
    case "forget": return try MirrorRegistrations.forget(arguments, terminal)
    default: _ = try arguments.operands()
    }
    if try arguments.value("sign-head") != nil { return try MirrorHead.run(arguments, terminal) }
    if !arguments.all("root").isEmpty {
      throw UsageError("--root is for verify and --sign-head: a run copies the roots that the origin has")
    }
    let progress = ProgressLine(terminal)
    let place = try place(arguments)
    try refuse(strangers: strangers(in: place), arguments)
    let run = try MirrorRun(
      from: try source(arguments), to: place, try options(arguments)
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
        "damaged or missing at the origin: files that \(report.needs) need; publish them again with --rehash, then run this again",
        name: "damaged")
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
        "\(channel): unchanged in the copy, because some of its files are damaged or missing at the origin; publish them "
          + "again with --rehash, then run this again")
    }
    for channel in report.lacking {
      terminal.note(
        "\(channel): the copy named files whose bytes were purged; they were removed all the same, and it lacks them until the "
          + "channel can be updated")
    }
    for left in report.leftVersions {
      terminal.note(
        "\(left.channel): \(left.words) left out of the copy, because files that only older versions name are damaged or "
          + "missing at the origin; devices with an older version get the newest one as whole files")
    }
    for path in report.lostZips {
      terminal.note("\(path): left out, because files it needs are damaged at the origin")
    }
    DamageOutput.tell(
      report.damaged, report.damagedURLs, "damaged or missing at the origin and not copied", arguments,
      terminal)
  }

  /// Refuses to begin a copy in a folder that has something else.
  private static func refuse(strangers: [String], _ arguments: Arguments) throws {
    guard let name = strangers.first, !arguments.has("allow-others") else { return }
    let place = try arguments.value("to") ?? ""
    throw Failure(
      "\(place) is no copy yet and has other files, such as \(name): nothing was written. Give another folder, or, if the copy is to "
        + "lie among them, add --allow-others", code: .refused, name: "exists")
  }

  /// The names in a folder that isn't a copy yet, but for hidden ones.
  private static func strangers(in place: MirrorPlace) -> [String] {
    guard case .folder(let path, _) = place, let names = try? Folder.textNames(path),
      !names.contains("mirror.json")
    else { return [] }
    return names.filter { !$0.hasPrefix(".") && ChannelName(space: $0) == nil }.sorted()
  }

  private static func source(_ arguments: Arguments) throws -> any MirrorSource {
    if let source = try knownSource(arguments) { return source }
    throw UsageError("nothing to mirror: give --data DIR or --server URL")
  }

  /// Returns the origin from flags, environment or `xcache.json`. `attempts` limits the requests to a server that doesn't
  /// answer.
  static func knownSource(_ arguments: Arguments, attempts: Int = 6) throws -> (any MirrorSource)? {
    if !arguments.all("data").isEmpty, !arguments.all("server").isEmpty {
      throw UsageError("give either --data, the origin's data folder, or --server, not both")
    }
    if let data = try arguments.value("data"), arguments.all("server").isEmpty {
      return try DataSource(data: data)
    }
    let remote = try RemoteOrigin(arguments, namesApp: false, namesChannel: false)
    return try remote.settings.server.map {
      ServerSource(
        server: $0, token: try remote.credential?.token.text, tokenSource: remote.tokenSource,
        attempts: attempts,
        http: remote.http)
    }
  }

  /// Returns the selection of `--app` and `--channel`.
  static func selection(_ arguments: Arguments) throws -> ChannelSelection {
    ChannelSelection(
      apps: Set(try arguments.all("app").map { try SettingsValue.app($0, in: "--app") }),
      channels: Set(try arguments.all("channel").map { try SettingsValue.channel($0, in: "--channel") }))
  }

  static func place(_ arguments: Arguments) throws -> MirrorPlace {
    guard let text = try arguments.value("to") else {
      throw UsageError("--to DIR is required: the copy's folder")
    }
    if text.contains("://"), !text.hasPrefix("s3://") {
      throw UsageError("--to \(text): a copy goes into a folder, or to s3://bucket/prefix")
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
    options.name = try arguments.text("name", .line(bytes: 1024))
    return options
  }
}

extension MirrorReport {
  fileprivate var isWhole: Bool { stopped.isEmpty && leftVersions.isEmpty && lostZips.isEmpty }

  /// What needs the damaged files.
  fileprivate var needs: String {
    if !stopped.isEmpty { return "channels" }
    return leftVersions.isEmpty ? "zips" : "older versions"
  }

  fileprivate var channelLines: [String] {
    channels.map { "\($0.app) \($0.channel): version \($0.version)" }
      + gone.map { "\($0): no longer at the origin, so no longer in the copy" }
  }

  fileprivate var lines: [String] {
    var lines: [String] = []
    if let words = readable.message {
      lines.append("the token may read only \(words); nothing else was changed")
    }
    let whole = Set(untouched).subtracting(unfinished)
    if !whole.isEmpty { lines.append("unchanged:  \(whole.list)") }
    lines += unfinished.map {
      "\($0): an earlier run was interrupted; run without --channel and --app to complete it"
    }
    if !leftOut.isEmpty { lines.append("not in the copy: \(leftOut.list)") }
    lines.append(
      written > 1
        ? "\(Count.text(written, "file")) written, \(Bytes.text(writtenBytes)); \(Count.text(files, "file")), \(Bytes.text(bytes)) in all"
        : "up to date: \(Count.text(files, "file")), \(Bytes.text(bytes))")
    if zipsToCome > 0 {
      lines.append(
        "\(Count.text(zipsToCome, "zip")) of updates \(zipsToCome == 1 ? "is" : "are") waiting for deltas; run again later"
      )
    }
    if putsOffPruning {
      lines.append(
        "nothing was removed: mirror.json was missing; it has been written, and the grace period starts now")
    }
    if removed > 0 { lines.append("\(Count.text(removed, "file")) removed") }
    if leaving > 0 {
      lines.append(
        "\(Count.text(leaving, "file")) \(leaving == 1 ? "is" : "are") used by no kept version; --prune removes them after the grace period"
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
      "files": .integer(files), "gone": .array(gone.map(\.json)),
      "lacking": .array(lacking.map(\.json)), "leaving": .integer(leaving),
      "leftOut": .array(leftOut.map(\.json)), "leftVersions": .array(leftVersions.map(\.json)),
      "lostZips": .strings(lostZips), "place": .string(place),
      "removed": .integer(removed), "stopped": .array(stopped.map(\.json)),
      "unfinished": .array(unfinished.map(\.json)),
      "untouched": .array(untouched.map(\.json)), "written": .integer(written),
      "writtenBytes": .integer(writtenBytes),
      "zipsToCome": .integer(zipsToCome),
    ]
  }
}

extension MirrorReport.OldVersions {
  fileprivate var words: String {
    versions.count == 1
      ? "version \(versions[0]) is" : "versions \(versions.map(\.text).joined(separator: ", ")) are"
  }

  fileprivate var json: JSONValue {
    [
      "app": .string(channel.app.text), "channel": .string(channel.channel.text),
      "versions": .strings(versions.map(\.text)),
    ]
  }
}

extension Collection where Element == MirroredChannel {
  /// The channels as `mall online, shop test`.
  var list: String { sorted().map(\.description).joined(separator: ", ") }
}
