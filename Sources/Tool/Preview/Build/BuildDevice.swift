import Manifests
import Publishing
import Values
import XCacheDevice

/// A device that holds a build as if it had been released, together with what else is live in its channel.
struct BuildDevice {
  let build: LocalBuild
  /// The channel's entries of other bundles, with their transport; nil without an origin.
  var others: OtherBundles?
  /// What else it answers, such as the calls of an API.
  var fixtures: Fixtures?

  /// A reserved name that doesn't resolve (RFC 6761 §6.4); nothing is requested from it.
  static let server = "https://build.invalid"
  static let app = "build"

  /// Sets up the device in a folder.
  /// - Returns: The hosts that it answers for.
  func make(in folder: String, progress: @escaping @Sendable (Progress) -> Void) throws -> [String] {
    let items = try items()
    let map = Manifest(version: ManifestVersion(1), items: items).map
    var files: [String: String] = [:]
    for (item, file) in zip(items, build.files) { files[item.entry.download] = file.file.source.location }
    for answer in fixtures?.answers ?? [] {
      files[try Self.item(answer.url, answer.content).entry.download] = answer.location
    }
    let transport = BuildTransport(
      manifest: Documents.whole(ManifestVersion(1), map), files: files, others: others?.transport)
    let settings = DeviceSettings(folder: folder, server: Self.server, app: Self.app, hosts: ["*"])
    let device = try Device(settings, transport: transport)
    _ = try device.update(force: true, progress: progress)
    return PageHosts.names(of: items.map(\.url.text))
  }

  /// Returns the items, those of the build first. None is lazy: once the engine has the device, it can fetch no file of the build.
  private func items() throws -> [ManifestItem] {
    var items = try build.files.map { try Self.item($0.url, $0.content) }
    var keys = Set(items.map(\.url.matchKey))
    let answers = try (fixtures?.answers ?? []).map { try Self.item($0.url, $0.content) }
    for item in (others?.items ?? []) + answers where keys.insert(item.url.matchKey).inserted {
      items.append(item)
    }
    return items.map { ManifestItem(url: $0.url, entry: $0.entry.without(Entry.lazyKey)) }
  }

  private static func item(_ url: ResourceURL, _ content: ResourceContent) throws -> ManifestItem {
    let path = DownloadPath(
      channel: .online, appID: 1, manifestVersion: ManifestVersion(1), resourceVersion: 1,
      sha256: content.sha256, url: url)
    return ManifestItem(
      url: url, entry: Entry(content, download: path.url(publicURL: try BaseURL(server)), version: 1))
  }
}

/// Extracts the hosts of URLs.
enum PageHosts {
  /// Returns each host once, as in host lists.
  static func names(of urls: [String]) -> [String] {
    let hosts = Set(urls.compactMap { (try? ResourceURL($0)).map { String($0.host) } })
    return hosts.filter { (try? HostList([$0])) != nil }.sorted()
  }
}
