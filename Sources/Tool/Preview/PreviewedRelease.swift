import OriginAPI
import PreviewProtocol
import System
import Values
import XCacheDevice

/// Opens a page of a channel's releases, each on a temporary device of its own.
package struct PreviewedRelease {
  /// A version on a temporary device.
  package struct Release {
    fileprivate let folder: ScratchFolder
    /// The version.
    package let version: String
    let urls: [String]
    /// The page that answers for the address, because it is a route.
    let fallback: String?
    /// The one that answers for the address with https.
    let secureFallback: String?
    /// Why the device passes the page on; nil if it doesn't.
    let policy: String?

    fileprivate var device: String { Self.device(in: folder) }

    fileprivate static func device(in folder: ScratchFolder) -> String { "\(folder.path)/device" }
  }

  private let server: BaseURL
  private let channel: ChannelAddress
  private let page: PageAddress
  private let program: EngineProgram
  private let interruption: Interruption
  /// The seconds after which the page is given up.
  package var timeout = 30
  /// The size of the window.
  package var size = PageSize.phone
  /// The network to simulate for what the device doesn't hold; nil for that of this machine.
  package var network: NetworkLimit?
  /// Whether no connection may leave the machine.
  package var isOffline = false
  /// Gets each line that the program writes to standard error.
  package var trace: (@Sendable (String) -> Void)?

  /// Creates a preview of a page of a server's channel.
  package init(
    _ page: PageAddress, in channel: ChannelAddress, at server: BaseURL, by program: EngineProgram,
    _ interruption: Interruption
  ) {
    self.page = page
    self.channel = channel
    self.server = server
    self.program = program
    self.interruption = interruption
  }

  /// Has a temporary device take a version, and closes it, so that its folder is free for the engine. `take` does it: it gets the
  /// device and the path of its folder.
  package func fetch(
    _ transport: any Transport, take: (_ device: Device, _ folder: String) throws -> Void
  ) throws -> Release {
    let folder = try interruption.folder("xcache-preview")
    let path = Release.device(in: folder)
    var settings = DeviceSettings(
      folder: path, server: server.text, app: channel.app.text, hosts: ["*"], channel: channel.channel.text)
    settings.isPreview = true
    let device = try Device(settings, transport: transport)
    device.takeFullVersions()
    try take(device, path)
    let policy = device.runtimePolicy
    let now = Clock.unixMilliseconds()
    let reason: String? =
      policy.isKilled(at: now)
      ? "the kill switch is on: devices leave every page to the network"
      : policy.intercepts(page.url.text, at: now)
        ? nil : "a bypass matches the page: devices leave it to the network"
    return Release(
      folder: folder, version: device.version, urls: device.heldFiles().map(\.url),
      fallback: device.snapshot.fallback(at: page.url.text),
      secureFallback: PageListing.secure(page.url).flatMap { device.snapshot.fallback(at: $0) },
      policy: reason)
  }

  /// Opens the page in a release that `fetch` returned.
  package func show(_ release: Release, takesPicture: Bool) throws -> PreviewedPage {
    let settings = EngineSettings(
      folder: release.device, server: server.text, app: channel.app.text, channel: channel.channel.text,
      hosts: PageHosts.names(of: release.urls + [page.url.text]), size: size, network: network,
      isOffline: isOffline)
    let picture = takesPicture ? "\(release.folder.path)/page.png" : nil
    let job = EngineJob(id: 1, url: page.text, screenshot: picture, timeout: timeout)
    let engine = EngineRuns(program: program, settings: settings, interruption: interruption, trace: trace)
    let shown = try engine.show([job])
    guard let report = shown.reports.first else { throw PreviewError.noReport(url: page.text) }
    return PreviewedPage(
      channel: channel, version: release.version, address: page.text, engine: shown.engine,
      policy: release.policy,
      listing: PageListing(
        page.url, among: release.urls, fallback: release.fallback, secureFallback: release.secureFallback),
      report: report,
      picture: try picture.flatMap(Picture.init(reading:)))
  }
}

/// A page of a release, with its report.
package struct PreviewedPage {
  /// The channel of the release.
  package let channel: ChannelAddress
  /// The version of the release.
  package let version: String
  /// The URL that was opened.
  package let address: String
  /// The engine's own name for itself.
  package let engine: String
  /// Why the device passes the page on; nil if it doesn't.
  package let policy: String?
  /// Whether the release contains the page.
  package let listing: PageListing
  /// What the engine saw.
  package let report: PageReport
  let picture: Picture?
  /// The path of the screenshot, once it is saved.
  package private(set) var screenshot: String?

  /// Saves the screenshot, if there is one.
  package mutating func save(to path: String) throws {
    guard let picture else { return }
    try picture.write(to: path)
    screenshot = path
  }
}
