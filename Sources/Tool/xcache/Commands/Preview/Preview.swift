import Publishing
import System
import Values
import XCacheDevice

/// Opens a page of a version.
struct Preview {
  let remote: RemoteOrigin
  let program: EngineProgram
  let interruption: Interruption
  let page: PageAddress
  let timeout: Int
  /// Changes further engine settings.
  var prepare: (inout EngineSettings) -> Void = { _ in }

  /// Opens the page in a release that `fetch` returned.
  func show(_ release: Release, _ terminal: Terminal, takesPicture: Bool) throws -> PreviewedPage {
    var settings = EngineSettings(
      folder: release.device, server: try remote.server.text, app: try remote.app.text,
      channel: remote.channel.text, hosts: PageHosts.names(of: release.urls + [page.url.text]))
    prepare(&settings)
    let picture = takesPicture ? "\(release.folder.path)/page.png" : nil
    let drawn = ProgressLine(terminal)
    drawn.show("opening the page")
    let engine = EngineRuns(
      program: program, settings: settings, interruption: interruption, trace: remote.trace)
    let job = EngineJob(id: 1, url: page.text, screenshot: picture, timeout: timeout)
    let shown = try engine.show([job])
    guard let report = shown.reports.first else {
      throw Failure("\(EngineProgram.name) didn't answer about \(page.text)", name: "engine")
    }
    return PreviewedPage(
      app: settings.app, channel: settings.channel, version: release.version, address: page.text,
      engine: shown.engine, policy: release.policy, listing: PageListing(page.url, among: release.urls),
      report: report,
      picture: try picture.flatMap(Picture.init(reading:)))
  }

  /// A version on a temporary device.
  struct Release {
    fileprivate let folder: ScratchFolder
    let version: String
    let urls: [String]
    /// Why the device passes the page on; nil if it doesn't.
    let policy: String?

    fileprivate var device: String { Self.device(in: folder) }

    fileprivate static func device(in folder: ScratchFolder) -> String { "\(folder.path)/device" }
  }

  /// Creates a device with a version, and closes it, so that its folder is free. `word` is a number or a time; nil means the
  /// newest version.
  func fetch(_ word: String?, _ terminal: Terminal) throws -> Release {
    let folder = try interruption.folder("xcache-preview")
    let path = Release.device(in: folder)
    var settings = DeviceSettings(
      folder: path, server: try remote.server.text, app: try remote.app.text, hosts: ["*"],
      channel: remote.channel.text)
    settings.isPreview = true
    let device = try Device(settings, transport: remote.transport(connections: settings.connections))
    let drawn = ProgressLine(terminal)
    let progress: @Sendable (Progress) -> Void = { done in
      drawn.show("fetching", done.bytes, of: done.bytesTotal, files: done.files, of: done.filesTotal)
    }
    defer { terminal.endProgress() }
    if let word {
      _ = try PullVersion(remote: remote, device: device, folder: path).run(word, progress: progress)
    } else {
      _ = try DeviceRefusal(remote: remote).naming { try device.update(force: true, progress: progress) }
    }
    guard device.version != "0" else {
      throw try remote.nothingPublished
    }
    let policy = device.runtimePolicy
    let now = Clock.unixMilliseconds()
    let reason: String? =
      policy.isKilled(at: now)
      ? "the kill switch is on: devices leave every page to the network"
      : policy.intercepts(page.url.text, at: now)
        ? nil : "a bypass matches the page: devices leave it to the network"
    return Release(
      folder: folder, version: device.version, urls: device.heldFiles().map(\.url), policy: reason)
  }
}

/// A page of a release, with its report.
struct PreviewedPage {
  let app: String
  let channel: String
  let version: String
  let address: String
  let engine: String
  /// Why the device passes the page on; nil if it doesn't.
  let policy: String?
  /// Whether the release contains the page.
  let listing: PageListing
  let report: PageReport
  let picture: Picture?
  /// The path of the screenshot.
  private(set) var screenshot: String?

  init(
    app: String, channel: String, version: String, address: String, engine: String, policy: String?,
    listing: PageListing,
    report: PageReport, picture: Picture?
  ) {
    self.app = app
    self.channel = channel
    self.version = version
    self.address = address
    self.engine = engine
    self.policy = policy
    self.listing = listing
    self.report = report
    self.picture = picture
  }

  /// Saves the screenshot, if there is one.
  mutating func save(to path: String) throws {
    guard let picture else { return }
    try picture.write(to: path)
    screenshot = path
  }

  var json: JSONObject {
    var members = JSONObject()
    members["app"] = .string(app)
    members["channel"] = .string(channel)
    members["engine"] = .string(engine)
    members["hint"] = listing.hint.map { .string($0) } ?? .null
    members["isInRelease"] = .bool(listing.isListed)
    members["page"] = .object(report.json)
    members["policy"] = policy.map { .string($0) } ?? .null
    members["screenshot"] = screenshot.map { .string($0) } ?? .null
    members["url"] = .string(address)
    members["version"] = .string(version)
    return members
  }
}

/// A page's screenshot, as the engine's program wrote it.
struct Picture {
  private let bytes: [UInt8]

  private static let limit = 64 << 20
  /// The signature of PNG files (PNG specification §5.2).
  private static let signature: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]

  /// Reads a screenshot; nil if there is none, such as for a page that didn't load.
  init?(reading path: String) throws {
    guard let bytes = try DurableFile.read(path, limit: Self.limit) else { return nil }
    guard bytes.starts(with: Self.signature) else {
      throw Failure("\(EngineProgram.name) wrote a picture that isn't a PNG file", name: "engine")
    }
    self.bytes = bytes
  }

  /// Returns a path after checking, before any page is opened, that a screenshot can be written there.
  static func checked(_ path: String) throws -> String {
    guard path.lowercased().hasSuffix(".png") else {
      throw UsageError("--screenshot \(path): pictures are PNG files; expected a name that ends in .png")
    }
    if try Kernel.status(path)?.kind == .folder { throw UsageError("--screenshot \(path) is a folder") }
    let folder = DurableFile.parent(of: path)
    guard try Kernel.status(folder)?.kind == .folder else {
      throw Failure("--screenshot \(path): there is no folder \(folder)", name: "no-files")
    }
    return path
  }

  func write(to path: String) throws { try DurableFile.write(bytes, to: path) }
}
