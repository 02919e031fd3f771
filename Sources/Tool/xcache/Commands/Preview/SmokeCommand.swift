import Preview
import Publishing
import System
import Values

/// `xcache smoke`: tests whether the pages of a build load, before it is published.
enum SmokeCommand {
  static let command = Command(
    name: "smoke", operands: "[DIR|FILE.zip [PAGE…]]",
    summary: "open the pages of a build in a web engine before it is published",
    examples: [
      .init("dist --base-url https://m.example.com/shop/", "every page of a folder"),
      .init("dist index.html 'index.html#/cart' --base-url https://m.example.com/shop/", "these pages"),
      .init("dist items/3", "a route, by the fallbacks of xcache.json"),
      .init("--allow-network", "all bundles of xcache.json; their pages may use their API"),
      .init("--record fixtures", "the same, and keep what the API answers"),
      .init("--fixtures fixtures", "answer the API from there, as in a CI job"),
    ],
    notes: """
      Pages are opened in WebKitGTK by xcache-webkit, on a temporary device that holds only the build. Nothing is
      requested from an origin, and without --allow-network nothing leaves this machine. A page fails, with exit
      code 3, in these cases:
        load     it doesn't load, or not within --timeout
        script   a script throws an error, or a promise is rejected, and nothing handles it
        missing  a script, style sheet, image, font or frame below the base URL isn't in the build
        blank    nothing can be seen on it; a page that waits for its API needs --allow-network
      Other requests that get no answer, such as those to the app's own API, and console errors are notes. What a
      script throws because a request got no answer still fails the page; --allow-network lets such requests through.
      --record does the same, and writes what the pages fetched by GET to DIR; --fixtures then answers these requests,
      whatever their host, from DIR. DIR/fixtures.json lists URLs with their files, and can be written by hand.
      A page is watched until it has loaded and requested nothing for half a second. If xcache-webkit exits on a
      page, that page fails and the others are still opened. PAGE is a path in the folder or a URL, with query and
      fragment if needed, or a route that a fallback page answers. Without PAGE, the HTML documents of the build are
      opened, those nearest to its top first.
      'xcache publish --smoke' does the same before it publishes, together with the channel's other live bundles, and
      sends pictures of the pages along with the release, for people to look at in the console.
      xcache-webkit is the program that XCACHE_WEBKIT names, or is found beside xcache or in PATH.
      In xcache.json: "smoke": {"ignore": ["popup.html"], "fixtures": "fixtures"}; pages that match `ignore` are opened
      only if named.
      """,
    options: [
      .value("bundle", "NAME", "a bundle of xcache.json; repeatable"),
      .value("base-url", "URL", "the URL that the folder's files will have"),
      .value("include", "GLOB", "use only matching files; repeatable"),
      .value("exclude", "GLOB", "skip matching files; repeatable"),
      .flag("index", "also open dir/index.html as dir/, like publish --index"),
      .value("max-pages", "N", "open at most N pages if none is named (default: 50)"),
      .value("parallel", "N", "how many pages to open at a time (default: one per core, at most 4)"),
      networkOption,
      .value("fixtures", "DIR", "answer the pages' requests from files that --record wrote"),
      .value("record", "DIR", "let pages use the network, and keep what they fetched in DIR"),
      PageSize.option, .value("screenshots", "DIR", "save a picture of each page"), PageTimeout.option,
      Command.all,
    ],
    run: run)

  static let networkOption = Option.flag(
    "allow-network",
    "in the smoke test, let pages use the network for what the build doesn't have, such as an API")

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let settings = try Settings.file(from: ".")
    let bundles = try CheckCommand.sources(
      arguments, settings, folders: Array(arguments.operands.prefix(1)), requiresBase: true,
      mapsIndex: arguments.has("index") ? true : nil)
    try check(bundles)
    let size = try PageSize.read(arguments)
    let timeout = try PageTimeout.read(arguments)
    let maxPages = try arguments.number("max-pages", in: 1...10_000)
    let parallel = try arguments.number("parallel", in: 1...8)
    let pictures = try arguments.value("screenshots")
    var smoke = SmokeTest(try EngineProgram(arguments.environment), try Interruption())
    smoke.size = size
    smoke.timeout = timeout
    smoke.maxPages = maxPages ?? smoke.maxPages
    smoke.parallel = parallel ?? smoke.parallel
    let recording = try arguments.value("record")
    if recording != nil, !arguments.all("fixtures").isEmpty {
      throw UsageError("--record writes what --fixtures reads: give one of them")
    }
    smoke.allowsNetwork = arguments.has("allow-network") || recording != nil
    smoke.recording = recording.map { ($0, arguments.http()) }
    if recording == nil {
      smoke.fixtures = try (try arguments.value("fixtures") ?? settings.smokeFixtures).map(Fixtures.read)
    }
    smoke.pictures = pictures
    smoke.ignored = settings.smokeIgnores
    smoke.trace = arguments.trace
    let result = try open(smoke, bundles, pages: Array(arguments.operands.dropFirst()), terminal)
    if let recording { remark(result.recorded, in: recording, terminal) }
    remark(result, terminal)
    if arguments.has("json") {
      terminal.say(json: result.json, result.failure)
    } else {
      // Failures come first, so that a truncated list doesn't lose any.
      for line in result.failedLines(terminal) { terminal.say(line) }
      terminal.say(list: result.fineLines(terminal), all: arguments.has("all"))
      terminal.say(result.summary)
    }
    return result.failure?.code ?? .done
  }

  /// Runs a smoke test, and shows what it is doing.
  private static func open(
    _ smoke: SmokeTest, _ bundles: [BundleSource], pages: [String] = [], others: OtherBundles? = nil,
    _ terminal: Terminal
  ) throws -> SmokeResult {
    let drawn = ProgressLine(terminal)
    defer { terminal.endProgress() }
    return try smoke.run(bundles, pages: pages, others: others) { progress in
      switch progress {
      case .hashing(let done, let all): drawn.show("hashing", Int64(done), of: Int64(all), .files)
      case .preparing(let done):
        drawn.show("preparing", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
      case .opening(let done, let all):
        drawn.show(
          "opening pages", Int64(done), of: Int64(all), .files, "\(done) of \(Count.text(all, "page"))")
      }
    }
  }

  private static func remark(
    _ recorded: (count: Int, others: [String])?, in folder: String, _ terminal: Terminal
  ) {
    guard let recorded else { return }
    terminal.remark(
      "recorded \(Count.text(recorded.count, "answer")) in \(folder), for --fixtures \(folder); see that nobody's data "
        + "is in them before you commit them")
    for url in recorded.others {
      terminal.remark("not recorded, because the server didn't answer it the same again: \(url)")
    }
  }

  private static func remark(_ result: SmokeResult, _ terminal: Terminal) {
    guard let first = result.parts.first else { return }
    let others = result.parts.count > 1 ? " and \(result.parts.count - 1) more" : ""
    terminal.remark(
      "not opened: \(first)\(others): no doctype, html, head or body, so a part of another page; name it as PAGE to open it"
    )
  }

  /// Checks that a web engine can open the pages.
  /// - Throws: `UsageError` if it can't open pages with such URLs.
  private static func check(_ bundles: [BundleSource]) throws(UsageError) {
    for base in bundles.flatMap({ $0.folders.map(\.baseURL.text) }) where !base.hasPrefix("https://") {
      throw UsageError("\(base): a smoke test opens pages with https URLs only")
    }
  }

  /// Runs the smoke test for bundles to be published, together with what else is live in their channel. `rehearse` throws what a
  /// publish would be refused for before its files are sent.
  /// - Throws: `Failure` if a page fails; then nothing may be published.
  static func before(
    publishing bundles: [BundleSource], _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal,
    rehearse: () throws -> Void
  ) throws -> SmokeResult {
    try check(bundles)
    var smoke = SmokeTest(try EngineProgram(arguments.environment), try Interruption())
    smoke.trace = arguments.trace
    smoke.allowsNetwork = arguments.has(networkOption.name)
    smoke.keepsPictures = !arguments.has("dry-run")
    smoke.ignored = remote.settings.smokeIgnores
    smoke.fixtures = try remote.settings.smokeFixtures.map(Fixtures.read)
    // Opening pages takes seconds, which a publish that will be refused needn't spend.
    try rehearse()
    terminal.endProgress()
    var others = try OtherBundles(
      remote.address, at: remote.api, transport: remote.transport(connections: 6),
      without: bundles.map(\.name))
    if let bytes = others?.bytes, bytes > OtherBundles.limit {
      terminal.remark(
        "the channel's other bundles have \(Bytes.text(bytes)), too much to fetch for the smoke test: files that pages "
          + "need from them are missing there")
      others = nil
    }
    let result = try open(smoke, bundles, others: others, terminal)
    remark(result, terminal)
    guard let failure = result.failure else {
      for line in result.fineLines(terminal) where line.contains("note: ") { terminal.remark(line) }
      terminal.remark("smoke test: \(result.summary)")
      return result
    }
    for line in result.failedLines(terminal) { terminal.note(line) }
    if arguments.has("json") {
      terminal.say(json: result.json, failure)
    }
    throw Failure("\(failure.message); nothing was published", code: failure.code, name: failure.name)
  }
}
