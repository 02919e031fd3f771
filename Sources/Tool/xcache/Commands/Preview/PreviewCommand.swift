import Preview
import System
import Values
import XCacheDevice

/// `xcache preview`: opens a page of a release as a device would.
enum PreviewCommand {
  static let command = Command(
    name: "preview", operands: "URL",
    summary: "open a page of a release in a web engine, as a device would",
    examples: [
      .init("https://m.example.com/shop/index.html --app shop", "the page in the newest version"),
      .init(
        "https://m.example.com/shop/ --app shop --version 552 --screenshot page.png",
        "an older version, with a picture"),
      .init(
        "https://m.example.com/shop/ --app shop --channel test --offline", "what works without a network"),
      .init("https://m.example.com/shop/ --app shop --compare 552 553", "two versions side by side"),
    ],
    notes: """
      The version is fetched into a temporary device, and the page is opened in WebKitGTK by xcache-webkit. The
      output shows where the answer to each request came from (the device, the network, nowhere), what scripts and
      the console reported, first contentful paint, load, and a picture. --version, --at and --compare show a release
      by itself, without the channel's policy and prefetch config; a time needs a token that may read the channel.
      --compare A without B compares with the newest version; its pictures are two files, page.552.png and
      page.553.png.
      The page's requests leave this machine unless --offline is given. 'xcache status' doesn't count a preview as a
      device. Exit code 1: the page didn't load.
      xcache-webkit is the program that XCACHE_WEBKIT names, or is found beside xcache or in PATH.
      """,
    options: Command.remote + Command.channel + [
      .value("version", "V", "the release to show (default: the newest)"), VersionArgument.option,
      .value("compare", "A", "show version A beside the version named after it, or the newest"),
      .flag("offline", "allow no network connections"), NetworkLimit.option, PageSize.option,
      .value("screenshot", "FILE.png", "save a picture of the page"), PageTimeout.option, Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let (page, versions) = try what(arguments)
    let limit = try NetworkLimit.read(arguments)
    let isOffline = arguments.has("offline")
    if limit != nil, isOffline { throw UsageError("give either --offline or --network, not both") }
    let size = try PageSize.read(arguments)
    let timeout = try PageTimeout.read(arguments)
    let picture = try PicturePath.read(arguments)
    let remote = try RemoteOrigin(arguments)
    let program = try EngineProgram(arguments.environment)
    // Resolved now: the pages wouldn't be comparable if only one had the channel's policy.
    let shownVersions: [String?] =
      versions.count == 2 ? [versions[0], try versions[1] ?? remote.newestVersion] : versions
    if versions.count == 2, shownVersions[0] == shownVersions[1] {
      throw UsageError("--compare: both are version \(shownVersions[0] ?? ""); give two that differ")
    }
    let server = try remote.server
    var preview = PreviewedRelease(
      page, in: try remote.address, at: server, by: program, try Interruption())
    (preview.timeout, preview.size, preview.network, preview.isOffline) = (timeout, size, limit, isOffline)
    preview.trace = remote.trace
    // Fetch all of them before opening the first: a missing one then costs no time.
    let releases = try shownVersions.map { try fetch($0, preview, remote, terminal) }
    if releases.count == 2, releases[0].version == releases[1].version {
      throw UsageError("--compare: both are version \(releases[0].version); give two that differ")
    }
    var shown: [PreviewedPage] = []
    for release in releases {
      ProgressLine(terminal).show("opening the page")
      shown.append(try preview.show(release, takesPicture: picture != nil))
      terminal.endProgress()
      if let picture {
        let path = versions.count == 1 ? picture : numbered(picture, release.version)
        try shown[shown.count - 1].save(to: path)
      }
    }
    let failed = shown.first { $0.report.problem != nil }
    let failure = failed.map { page in
      Failure(
        "\(page.address) didn't load: \(page.report.problem ?? "")\(page.listing.hint.map { "; \($0)" } ?? "")",
        name: "page-failed")
    }
    if arguments.has("json") {
      let document: JSONValue =
        shown.count == 1 ? .object(shown[0].json) : ["compared": .array(shown.map { .object($0.json) })]
      terminal.say(json: document, failure)
    } else if shown.count == 1 {
      PreviewOutput.say(shown[0], terminal, all: arguments.has("all"))
    } else {
      PreviewOutput.say(compared: shown, terminal, all: arguments.has("all"))
    }
    return failure?.code ?? .done
  }

  /// Fetches a version. `word` is a number or a time; nil means the newest version.
  private static func fetch(
    _ word: String?, _ preview: PreviewedRelease, _ remote: RemoteOrigin, _ terminal: Terminal
  ) throws -> PreviewedRelease.Release {
    let drawn = ProgressLine(terminal)
    let progress: @Sendable (Progress) -> Void = { done in
      drawn.show("fetching", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    return try preview.fetch(remote.transport(connections: 6)) { device, folder in
      if let word {
        _ = try PullVersion(remote: remote, device: device, folder: folder).run(word, progress: progress)
      } else {
        _ = try DeviceRefusal(remote: remote).naming { try device.update(force: true, progress: progress) }
      }
      if device.version == "0" { throw try remote.nothingPublished }
    }
  }

  /// Returns the page, and the versions to show: numbers, times, or nil for the newest.
  private static func what(_ arguments: Arguments) throws -> (PageAddress, [String?]) {
    // `--compare A B` leaves B among the operands.
    let compared = try arguments.value("compare")
    let isURL = { (word: String) in word.contains("://") }
    let pages = arguments.operands.filter(isURL)
    var others = arguments.operands.filter { !isURL($0) }[...]
    let second = compared == nil ? nil : others.popFirst()
    guard let text = pages.first else {
      if let word = others.first ?? second {
        throw UsageError("\(word) is not an address of a page, such as https://m.example.com/index.html")
      }
      throw UsageError("URL is missing: the address of the page, such as https://m.example.com/index.html")
    }
    if let extra = pages.dropFirst().first ?? others.first {
      throw UsageError("unexpected argument: \(extra)")
    }
    let page = try PageAddress(text, in: "URL")
    let one = try VersionArgument.one(arguments, try arguments.value("version"))
    guard let compared else { return (page, [one]) }
    if one != nil { throw UsageError("give either --compare or one version, not both") }
    let first = try VersionArgument.read(compared, in: "--compare")
    return (
      page,
      [
        first,
        try second.map { (word) throws(UsageError) in
          try VersionArgument.read(word, in: "--compare")
        },
      ]
    )
  }

  /// Returns a numbered path, such as `page.552.png` for `page.png`.
  private static func numbered(_ path: String, _ version: String) -> String {
    let start = path.hasSuffix(".png") ? String(path.dropLast(4)) : path
    return "\(start).\(version).png"
  }
}
