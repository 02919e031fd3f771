import BuildCheck
import OriginAPI
import OriginClient
import Preview
import Publishing
import System
import Values

/// `xcache publish`: publishes folders as bundles of a channel, in one release.
enum PublishCommand {
  static let command = Command(
    name: "publish", operands: "[DIR|FILE.zip…]",
    summary: "publish folders or zip files as one or more bundles",
    examples: [
      .init("", "all bundles of xcache.json, or those given by --bundle"),
      .init(
        "dist --app shop --bundle main --base-url https://m.example.com/shop/ -m 'spring sale'",
        "one bundle; a zip file works like a folder"),
      .init(
        "--app shop --bundle main=dist --bundle help=docs --base-url https://m.example.com/",
        "two bundles in one release"),
      .init("--dry-run --no-upload", "what would change; uploads nothing"),
      .init("--max-update 500KB", "refuse a larger update"),
      .init("--smoke", "first check that every page works"),
    ],
    notes: """
      Only files that the origin lacks are uploaded. Publishing the same content again makes no new version. The
      bundle becomes exactly the contents of DIR; other bundles are left alone. The build is checked first, as by
      'xcache check': errors stop the release (exit code 3), warnings are printed. The cost of an update for devices
      is computed at the origin from the files, so --dry-run says what it will upload, and uploads it; files that no
      release uses are removed after a day. Files with unchanged size and times are not read again. A program that
      keeps writing through a memory mapping can change bytes without changing times (on tmpfs it always does); use
      --rehash then. --rehash also has the origin read its copies of the files: those that are damaged are sent again.
      In an app with a root (see 'xcache trust'), each bundle that changes is signed: --sign-key or --sign-with,
      XCACHE_SIGN_KEY, or "signWith" in xcache.json. What the key may sign is checked before anything is sent. If the root
      asks for several signatures, give a --sign-key for each; or the release waits at the origin, and whoever has the
      next key completes it with 'xcache sign' within 30 days. Publishing the same again while it waits changes nothing.
      --source-maps DIR, or "sourceMaps" in xcache.json, stores the source maps of the build's scripts and styles, so that the
      stacks of errors name lines of the source text. No URL serves them. Leave them out of the build itself: --exclude
      '*.map'. Those that belong to no file are named; if none does, nothing is released.
      --statements-out FILE writes what is to be signed, and --statement FILE publishes with it, without the origin in
      between.
      In a protected channel (see 'xcache channel protect') it waits until others have approved it: nothing is released yet, and
      the exit code is 0. 'xcache approve' lists what waits.
      GLOB, like each pattern in xcache.json, is a name at any depth (*.map) or, with a slash in it, a path below DIR, which
      isn't part of it (img/*.png, /README.md). If it matches a folder, it matches everything in it. * and ? stay within
      one name, ** as a whole name is any number of folders, [a-z] and [!a-z] are one character, and \\ goes before a
      character that is meant as it is.
      """,
    options: Command.remote + Command.channel + [
      .value("bundle", "NAME[=DIR]", "the bundle and its folder; repeatable"),
      .value("base-url", "URL", "the URL of the folder's files"),
      .value("message", "TEXT", short: "m", "a message for the log"),
      .value("if-version", "V", "refuse if the bundle changed after version V (a number or a time)"),
      .value("include", "GLOB", "publish only matching files; repeatable"),
      .value("exclude", "GLOB", "skip matching files; repeatable"),
      .flag("index", "also publish dir/index.html as dir/"),
      .value("break-glass", "REASON", "release even if the channel is frozen; the reason is recorded"),
      .flag(
        "dry-run", "upload what the origin lacks, show what would happen and its cost; release nothing"),
      .flag("no-upload", "with --dry-run: upload nothing; the cost for devices isn't shown"),
      Command.schedule,
      .flag("now", "make the release visible without waiting for deltas"),
    ] + RolloutCommand.releaseOptions + [
      maxUpdateOption,
      .flag("wait-deltas", "also wait for deltas from older versions"),
    ] + GivenSigning.options + [
      GivenSigning.given, GivenSigning.out, CheckCommand.noCheck, CheckCommand.allowSecret,
      .flag("allow-no-pages", "release even if that removes every page of a bundle"),
      .flag(
        "create", "create the app, channel or bundle if it doesn't exist; else a misspelt name is refused"),
      .flag(
        "smoke", "first open the pages of the build, as 'xcache smoke' does; release nothing if one fails"),
      SmokeCommand.networkOption,
      SourceMapOutput.option,
      .flag("rehash", "read every file, here and at the origin"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments)
    let bundles = try sources(arguments, remote, folders: arguments.operands)
    let isDryRun = arguments.has("dry-run")
    let options = try options(arguments, bundles, remote, terminal)
    let drawn = ProgressLine(terminal)
    // A smoke test plans the release once before.
    let printed = Locked<Set<Publisher.Progress>>([])
    let publisher = Publisher(
      try remote.api, cache: PublishCache(environment: Environment.variables),
      program: "xcache/\(XCache.version)"
    ) { step in
      if step.isRemark, !printed.withLock({ $0.insert(step).inserted }) { return }
      tell(step, drawn, terminal, isDryRun: isDryRun)
    }
    defer { terminal.endProgress() }
    if let path = try arguments.value("statements-out") {
      return try write(bundles, to: path, publisher, remote, options, arguments, terminal)
    }
    var smoke: SmokeResult?
    if arguments.has("smoke") {
      smoke = try SmokeCommand.before(publishing: bundles, remote, arguments, terminal) {
        try publisher.rehearse(bundles, to: try remote.address, options)
      }
    }
    let result = try publisher.publish(bundles, to: try remote.address, options)
    terminal.endProgress()
    if let smoke, !isDryRun { keep(smoke.pictures, of: result, remote, terminal) }
    let warnings = warn(result, bundles, remote, arguments, terminal)
    report(result, smoke, warnings, remote, arguments, terminal)
    return .done
  }

  /// Sends pictures of a release's pages. The release is made, whatever becomes of them.
  private static func keep(
    _ pictures: [SmokePicture], of result: PublishResult, _ remote: RemoteOrigin, _ terminal: Terminal
  ) {
    guard result.answer.isChanged, result.answer.scheduled == nil, !pictures.isEmpty else { return }
    let version = result.answer.version
    do {
      let images = pictures.map {
        PageImage(page: $0.page, png: $0.bytes, width: $0.width, height: $0.height)
      }
      guard try remote.api.keep(images, of: version, in: remote.address) else { return }
      terminal.remark("kept pictures of \(Count.text(pictures.count, "page")) with version \(version)")
    } catch {
      terminal.remark("warning: the pictures of version \(version) were not kept: \(Fault(error).message)")
    }
  }

  /// Writes statements of the bundles for others to sign.
  private static func write(
    _ bundles: [BundleSource], to path: String, _ publisher: Publisher, _ remote: RemoteOrigin,
    _ options: PublishOptions, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let statements = try publisher.statements(
      of: bundles, for: try remote.address, options.signing, rehash: options.rehash)
    terminal.endProgress()
    try DurableFile.write(GivenSigning.file(statements), to: path, mode: 0o644)
    if arguments.has("json") {
      terminal.say(json: ["file": .string(path), "signed": GivenSigning.json(statements)])
    } else {
      terminal.say(
        "wrote \(Count.text(statements.count, "statement")) to \(path); whoever has the next key publishes the same build with "
          + "`xcache publish --statement \(path) --sign-key KEY`, or passes it on with --statements-out")
    }
    return .done
  }

  private static func options(
    _ arguments: Arguments, _ bundles: [BundleSource], _ remote: RemoteOrigin, _ terminal: Terminal
  ) throws -> PublishOptions {
    var options = PublishOptions(try ReleaseOptions().filled(arguments))
    options.creates = arguments.has("create")
    options.allowsNoPages = arguments.has("allow-no-pages")
    // What xcache.json names is meant.
    options.typedNames = Set(bundles.map(\.name)).subtracting(remote.settings.bundles.map(\.name))
    options.waitsForDeltas = arguments.has("wait-deltas")
    options.rehash = arguments.has("rehash")
    options.sendsFiles = !arguments.has("no-upload")
    if !options.sendsFiles, !arguments.has("dry-run") {
      throw UsageError("--no-upload can only be used with --dry-run")
    }
    if !options.sendsFiles, !arguments.all("max-update").isEmpty {
      throw UsageError("--max-update needs the files at the origin, so it can't be used with --no-upload")
    }
    options.maxUpdate = try maxUpdate(arguments)
    options.signing = try GivenSigning.terms(arguments, remote, terminal)
    // Those of xcache.json are of its bundles.
    options.sourceMaps =
      try arguments.value("source-maps") ?? (arguments.operands.isEmpty ? remote.settings.sourceMaps : nil)
    options.check = try CheckCommand.options(arguments, remote.settings)
    let names = Set(bundles.map(\.name))
    options.check.others = remote.settings.bundles.filter { !names.contains($0.name) }.flatMap(\.baseURLs)
    if !arguments.has("smoke"), arguments.has(SmokeCommand.networkOption.name) {
      throw UsageError("--allow-network can only be used with --smoke")
    }
    return options
  }

  /// Warns of what the release is probably not meant to be; returns the warnings that no other part of the JSON document has.
  private static func warn(
    _ result: PublishResult, _ bundles: [BundleSource], _ remote: RemoteOrigin, _ arguments: Arguments,
    _ terminal: Terminal
  ) -> [String] {
    for line in result.check.map({ CheckOutput.warnings($0, terminal) }) ?? [] { terminal.remark(line) }
    var warnings = result.plans.compactMap(WebBuild.warning(_:)) + bundles.compactMap(WebBuild.warning(_:))
    if result.answer.isChanged, let warning = try? loopbackWarning(remote) { terminal.remark(warning) }
    let sites = result.plans.compactMap { plan in
      bundles.first { $0.name == plan.bundle && WebBuild.hasWorker($0) }.map { (plan, $0) }
    }
    // A channel that a dry run would create has no public URL yet.
    let downloads = sites.isEmpty ? nil : try? remote.api.overview(of: remote.address).value.publicURL
    for case let site? in sites.map({ LiveSite($0, $1, downloads: downloads) }) {
      let found = site.warnings(arguments.http())
      warnings += found.warnings
      if let remark = found.remark { terminal.remark(remark) }
    }
    for warning in warnings { terminal.remark("warning: \(warning)") }
    return warnings
  }

  /// Says what was done, or would be.
  private static func report(
    _ result: PublishResult, _ smoke: SmokeResult?, _ warnings: [String], _ remote: RemoteOrigin,
    _ arguments: Arguments, _ terminal: Terminal
  ) {
    let isDryRun = arguments.has("dry-run")
    if arguments.has("json") {
      var document = result.json(dryRun: isDryRun).object ?? JSONObject()
      if let smoke { document["smoke"] = smoke.json }
      if !warnings.isEmpty { document["warnings"] = .strings(warnings) }
      terminal.say(json: .object(document))
    } else if let scheduled = result.answer.scheduled {
      if !terminal.isQuiet, scheduled.isUnsigned {
        for line in GivenSigning.lines(result.statements) { terminal.say(line) }
      }
      terminal.say(
        result.isWaitingAlready
          ? scheduled.lineOfSame(remote.channel, result.files) : scheduled.line(remote.channel))
      for line in result.answer.freezeLines(terminal) { terminal.say(line) }
    } else {
      for line in result.lines(dryRun: isDryRun, terminal) { terminal.say(line) }
      RolloutCommand.left(result.answer, remote, arguments, terminal)
    }
  }

  /// Warns if devices are told to download from this machine: every download has the URL in it.
  private static func loopbackWarning(_ remote: RemoteOrigin) throws -> String? {
    let url = try remote.api.overview(of: try remote.address).value.publicURL
    guard url.isLoopback else { return nil }
    return "devices are told to download from \(url), which only this machine reaches; "
      + "`xcache channel set --public-url URL` moves the channel to a URL that devices reach"
  }

  static let maxUpdateOption = Option.value(
    "max-update", "SIZE",
    "refuse the release if devices on the current version would download more than this: 500KB, 2MB")

  /// Returns the value of `--max-update`, in bytes.
  static func maxUpdate(_ arguments: Arguments) throws(UsageError) -> Int64? {
    guard let text = try arguments.value("max-update") else { return nil }
    guard let size = Bytes.parse(text) else {
      throw UsageError("--max-update \(text) is not a size such as 500KB or 2MB")
    }
    return size
  }

  /// Returns the value of `--if-version`, a number or a time, in the API's format.
  static func ifVersion(_ arguments: Arguments) throws -> String? {
    try arguments.value("if-version").map { (text) throws(UsageError) in
      try VersionArgument.read(text, in: "--if-version")
    }
  }

  /// Shows progress, and what is to be known before anything is sent.
  private static func tell(
    _ progress: Publisher.Progress, _ drawn: ProgressLine, _ terminal: Terminal, isDryRun: Bool
  ) {
    switch progress {
    case .hashing(let done, let all, _): drawn.show("hashing", Int64(done), of: Int64(all), .files)
    case .checking: drawn.show("checking the build")
    case .newKind(let kind):
      terminal.remark(
        "bundle \(kind.bundle): this release brings \(Count.text(kind.files, ".\(kind.ending) file")) "
          + "(\(Bytes.text(kind.bytes))), and the live version has none; was an exclude dropped? "
          + "--exclude '*.\(kind.ending)' leaves them out")
    case .indexDropped(let bundle, let folders, let url):
      terminal.remark(
        "bundle \(bundle): this release removes \(Count.text(folders, "folder URL")) of the live version, such as \(url), "
          + "and \(folders == 1 ? "its" : "their") index.html stays; was --index dropped?")
    case .settingsDropped(let dropped): terminal.remark(warning(dropped))
    case .sourceMaps(let pairing): for line in SourceMapOutput.lines(pairing) { terminal.remark(line) }
    case .notSigned, .lacksKey, .raisesFloor, .signsForUnknown, .wouldSign, .wouldWait, .waitsAlready,
      .stillWaits:
      if let remark = GivenSigning.remark(progress) { terminal.remark(remark) }
    case .lacking(let files, let bytes):
      if !isDryRun { return }
      terminal.remark(
        "the origin lacks \(Count.text(files, "file")), \(Bytes.text(bytes)): uploading them to compute their cost for devices "
          + "(use --no-upload to skip this)")
    case .sending(let done, let all): drawn.show("sending", done, of: all)
    case .preparing(let done, let all): drawn.show("making deltas", done, of: all, .files)
    case .releasing: drawn.show("releasing")
    case .waitingForDeltas(let left): drawn.show("making deltas from older versions: \(left) left")
    }
  }

  /// Says what `xcache.json` had set, and this release doesn't.
  static func warning(_ dropped: DroppedSettings) -> String {
    let (files, pages) = (dropped.lazy, dropped.pages)
    let lazy = files == 0 ? [] : ["\(Count.text(files, "file")) \(files == 1 ? "is" : "are") no longer lazy"]
    let others = pages.count > 1 ? " and \(Count.text(pages.count - 1, "other page"))" : ""
    let routes = pages.first.map {
      "\($0)\(others) \(pages.count == 1 ? "answers" : "answer") no routes any more"
    }
    return "warning: bundle \(dropped.bundle): "
      + (lazy + (routes.map { [$0] } ?? [])).joined(separator: ", and ")
      + "; was xcache.json left out? \"lazy\" and \"fallback\" have no options"
  }

  // MARK: - What is published

  /// Returns the bundles that the command line names, or those of `xcache.json`.
  /// - Parameter folders: the operands that are folders or zip files.
  static func sources(_ arguments: Arguments, _ remote: RemoteOrigin, folders: [String]) throws
    -> [BundleSource]
  {
    let settings = remote.settings
    let base = try arguments.value("base-url").map { try SettingsValue.folderURL($0, in: "--base-url") }
    let named = arguments.all("bundle")
    if named.count > 1, !folders.isEmpty {
      throw UsageError("give --bundle NAME=DIR for each folder")
    }
    var bundles: [BundleSource] = []
    if named.isEmpty {
      if !folders.isEmpty {
        throw remote.missing(
          "--bundle NAME is required: the name of what this project publishes"
            + (base == nil ? "\n--base-url URL is required: the URL of the folder's files" : ""))
      }
      if settings.bundles.isEmpty {
        throw remote.missing(
          "nothing to publish: give DIR, --bundle NAME and --base-url URL, or create an xcache.json")
      }
      for bundle in settings.bundles { bundles.append(try source(bundle, [], base, arguments)) }
    }
    for text in named {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = try SettingsValue.bundle(parts[0], in: "--bundle")
      if parts.count == 2, let folder = folders.first {
        throw UsageError("--bundle \(text) names the folder already; leave out \(folder)")
      }
      let own = parts.count == 2 ? [parts[1]] : folders
      bundles.append(try source(settings.bundle(name) ?? BundleSettings(name), own, base, arguments))
    }
    return bundles
  }

  private static func source(
    _ settings: BundleSettings, _ folders: [String], _ base: BaseURL?, _ arguments: Arguments
  ) throws -> BundleSource {
    var settings = settings
    settings.narrow(include: try globs("include", arguments), exclude: try globs("exclude", arguments))
    return try settings.source(
      folders: folders, baseURL: base, mapsIndex: arguments.has("index") ? true : nil)
  }

  static func globs(_ name: String, _ arguments: Arguments) throws -> [Glob] {
    try arguments.all(name).map { text in
      guard let glob = Glob(text) else {
        throw UsageError(
          "--\(name) \(text) is not a valid pattern: it is empty, has an empty part, or a [ isn't closed")
      }
      return glob
    }
  }
}
