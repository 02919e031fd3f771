import BuildCheck
import HTTPClient
import Manifests
import PreviewProtocol
import Publishing
import System
import Values
import XCacheDevice

/// Opens the pages of a build before it is published, on a temporary device that holds only the build.
package struct SmokeTest {
  /// What is being done, from any thread.
  package enum Progress: Sendable {
    case hashing(Int, of: Int)
    case preparing(XCacheDevice.Progress)
    case opening(Int, of: Int)
  }

  /// The size of the window.
  package var size = PageSize.phone
  /// The seconds after which a page is given up.
  package var timeout = 30
  /// How many pages are open at a time.
  package var parallel = min(Environment.cores, 4)
  /// How many pages to open at most if none is named.
  package var maxPages = 50
  /// Pages to open only if they are named.
  package var ignored: [Glob] = []
  /// Whether files that the build lacks are requested from the network.
  package var allowsNetwork = false
  /// The folder for screenshots.
  package var pictures: String?
  /// Whether pictures of the pages that are fine are kept for the release.
  package var keepsPictures = false
  /// What answers the pages' API calls.
  package var fixtures: Fixtures?
  /// The folder to which answers from the network are recorded, and the client to request them with.
  package var recording: (folder: String, http: HTTPClient)?
  /// Gets each line that the program writes to standard error.
  package var trace: (@Sendable (String) -> Void)?

  private let program: EngineProgram
  private let interruption: Interruption

  /// Creates a smoke test.
  package init(_ program: EngineProgram, _ interruption: Interruption) {
    self.program = program
    self.interruption = interruption
  }

  /// Opens the pages `words`, given as paths below the base URL or as URLs, or all of the build if it is empty. `others` is what
  /// else is live.
  package func run(
    _ bundles: [BundleSource], pages words: [String] = [], others: OtherBundles? = nil,
    progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) throws -> SmokeResult {
    let start = Clock.monotonicNanoseconds()
    let build = try LocalBuild(bundles) { progress(.hashing($0, of: $1)) }
    let own = build.files.map { Self.page($0.url, $0.content.ctype.text, $0.content.fallbacks) }
    let site = SmokeSite(build.files.map(\.url), bases: build.bases, fallbacks: FallbackTable(own))
    let (found, parts) = try words.isEmpty ? self.pages(of: build) : ([], [])
    var pages = try words.isEmpty ? found : words.map { try Self.page($0, build, site) }
    let leftOut = words.isEmpty ? max(0, pages.count - maxPages) : 0
    pages.removeLast(leftOut)
    let folder = try interruption.folder("xcache-smoke")
    let device = "\(folder.path)/device"
    let hosts = try BuildDevice(build: build, others: others, fixtures: fixtures).make(in: device) {
      progress(.preparing($0))
    }
    let settings = EngineSettings(
      folder: device, server: BuildDevice.server, app: BuildDevice.app, channel: "online", hosts: hosts,
      size: size, isConfined: !allowsNetwork, parallel: min(parallel, pages.count))
    let jobs = pages.enumerated().map { index, page in
      EngineJob(
        id: index + 1, url: page.text, screenshot: takesPictures ? "\(folder.path)/\(index + 1).png" : nil,
        timeout: timeout)
    }
    progress(.opening(0, of: jobs.count))
    let runs = EngineRuns(program: program, settings: settings, interruption: interruption, trace: trace)
    let (reports, engine) = try runs.show(jobs) { progress(.opening($0, of: jobs.count)) }
    try save(jobs, build, site)
    let recorded = try recording.map { try Fixtures.record(reports, in: $0.folder, $0.http) }
    let all = others.map { others in
      SmokeSite(
        build.files.map(\.url) + others.items.map(\.url), bases: build.bases,
        fallbacks: FallbackTable(
          own + others.items.map { Self.page($0.url, $0.entry.ctype, $0.entry.fallbacks) }))
    }
    let verdicts = zip(pages, reports).map { SmokeVerdict($0, $1, all ?? site, isConfined: !allowsNetwork) }
    return SmokeResult(
      verdicts: verdicts, pagesLeftOut: leftOut, engine: engine, parts: parts, recorded: recorded,
      pictures: keepsPictures ? kept(jobs, verdicts) : [],
      milliseconds: Int64((Clock.monotonicNanoseconds() - start) / 1_000_000))
  }

  /// Returns the build's documents, those nearest to its top first.
  private func pages(of build: LocalBuild) throws -> (pages: [PageAddress], parts: [String]) {
    let (documents, parts) = try build.pages()
    let pages = documents.filter { page in !ignored.contains { $0.matches(page.file.source.path) } }
      .map { PageAddress($0.url) }
    guard !pages.isEmpty else { throw PreviewError.noPages }
    func rank(_ page: PageAddress) -> (depth: Int, isOther: Int, text: String) {
      let depth = page.url.path.utf8.count { $0 == UInt8(ascii: "/") }
      return (depth, page.url.path.hasSuffix("/index.html") ? 0 : 1, page.text)
    }
    return (pages.sorted { rank($0) < rank($1) }, parts.map(\.url.text))
  }

  private static func page(_ word: String, _ build: LocalBuild, _ site: SmokeSite) throws -> PageAddress {
    if word.contains("://") {
      let page = try PageAddress(word, in: "PAGE")
      guard site.holds(page.url.text, isPage: true) || site.isRoute(page.url.text) else {
        throw PreviewError.notInBuild(word)
      }
      return page
    }
    let path = word.hasPrefix("/") ? String(word.dropFirst()) : word
    let pages = try build.bases.map { try PageAddress("\($0.text)/\(path)", in: "PAGE") }
    if let page = pages.first(where: { site.holds($0.url.text, isPage: true) }) { return page }
    guard let route = pages.first(where: { site.isRoute($0.url.text) }) else {
      throw PreviewError.notInBuild(word)
    }
    return route
  }

  private static func page(_ url: ResourceURL, _ ctype: String, _ fallbacks: PageFallbacks)
    -> (url: ResourceURL, ctype: String, fallbacks: PageFallbacks)
  {
    (url, ctype, fallbacks)
  }

  private var takesPictures: Bool { pictures != nil || keepsPictures }

  /// Returns the pictures of pages that are fine, one for each URL, in the order of the pages. One that can't be read is no reason to
  /// publish nothing.
  private func kept(_ jobs: [EngineJob], _ verdicts: [SmokeVerdict]) -> [SmokePicture] {
    var kept: [SmokePicture] = []
    var seen: Set<String> = []
    for (job, verdict) in zip(jobs, verdicts)
    where verdict.failures.isEmpty && kept.count < SmokePicture.pages {
      guard let path = job.screenshot, let picture = try? Picture(reading: path) else { continue }
      let own = picture.ofPage(verdict.page)
      if own.bytes.count <= SmokePicture.bytes, seen.insert(own.page).inserted { kept.append(own) }
    }
    return kept
  }

  /// Saves the screenshots to the requested folder: `1-index.html.png`, and `2-runs-17.png` of the route `runs/17`.
  private func save(_ jobs: [EngineJob], _ build: LocalBuild, _ site: SmokeSite) throws {
    guard let pictures else { return }
    try Kernel.makeFolder(pictures)
    for job in jobs {
      guard let path = job.screenshot, let picture = try Picture(reading: path) else { continue }
      let url = String(job.url.prefix { $0 != "?" && $0 != "#" })
      var name = url.split(separator: "/").last.map(String.init) ?? "page"
      // The last part of a route, such as a number, doesn't tell which one it is.
      if !site.holds(url, isPage: true),
        let base = build.bases.map({ $0.text + "/" }).filter(url.hasPrefix).max(by: { $0.count < $1.count })
      {
        name = url.dropFirst(base.count).split(separator: "/").joined(separator: "-")
      }
      let safe = String(
        name.prefix(80).map { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_".contains($0)) ? $0 : "_" })
      try picture.write(to: "\(pictures)/\(job.id)-\(safe).png")
    }
  }
}
