import HTTPClient
import Manifests
import OriginAPI
import Publishing
import System
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

  /// Returns the items, those of the build first.
  private func items() throws -> [ManifestItem] {
    var items = try build.files.map { try Self.item($0.url, $0.content) }
    var keys = Set(items.map(\.url.matchKey))
    let answers = try (fixtures?.answers ?? []).map { try Self.item($0.url, $0.content) }
    for item in (others?.items ?? []) + answers where keys.insert(item.url.matchKey).inserted {
      items.append(item)
    }
    return items
  }

  private static func item(_ url: ResourceURL, _ content: ResourceContent) throws -> ManifestItem {
    let path = DownloadPath(
      channel: .online, appID: 1, manifestVersion: ManifestVersion(1), resourceVersion: 1,
      sha256: content.sha256, url: url)
    return ManifestItem(
      url: url, entry: Entry(content, download: path.url(publicURL: try BaseURL(server)), version: 1))
  }
}

/// What is live in a channel besides the bundles to be published.
struct OtherBundles: Sendable {
  let items: [ManifestItem]
  let transport: any Transport

  /// The most bytes of them to fetch for opening pages.
  static let limit: Int64 = 256 << 20

  /// Fetches the entries of all bundles except `names`, which are replaced; nil if nothing else is live.
  init?(_ remote: RemoteOrigin, without names: [BundleName]) throws {
    let (api, channel) = (try remote.api, try remote.address)
    let overview: ChannelOverview
    do {
      overview = try api.overview(of: channel).value
    } catch {
      // The first release creates the channel.
      if error.problem?.status == 404 { return nil }
      throw error
    }
    guard overview.bundles.contains(where: { !names.contains($0.name) }) else { return nil }
    var replaced: Set<String> = []
    for bundle in overview.bundles where names.contains(bundle.name) {
      let entries = try api.entries(of: bundle.name, in: channel).entries.object?.members ?? []
      replaced.formUnion(entries.map(\.key))
    }
    let members = try api.manifest(of: channel).object?.members ?? []
    items = try members.filter { !replaced.contains($0.key) }.map { member in
      try Self.item(member.key, member.value, of: api.server)
    }
    transport = remote.transport(connections: 6)
  }

  private static func item(_ url: String, _ json: JSONValue, of server: BaseURL) throws -> ManifestItem {
    guard let url = try? ResourceURL(url), let entry = try? Entry(json: json),
      let place = DownloadPlace(entry.download)
    else { throw Failure("\(server): its manifest has no valid entry for \(url)", name: "not-an-origin") }
    // The origin itself serves every path of the public URL, which may be unreachable from here.
    let near = Entry(
      ctype: entry.ctype, download: place.path.url(publicURL: server), md5: entry.md5, sha256: entry.sha256,
      size: entry.size, version: entry.version, others: entry.others)
    return ManifestItem(url: url, entry: near)
  }

  var bytes: Int64 { items.clampedSum(\.entry.size) }
}

/// A transport that answers for the origin of a build: its manifest from memory, its files from their folders.
private struct BuildTransport: Transport {
  let manifest: [UInt8]
  /// The paths of files by download URL.
  let files: [String: String]
  let others: (any Transport)?

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    if let file = files[request.url] { return try read(file, receive) }
    if request.url.hasPrefix("\(BuildDevice.server)/configure.json?") {
      guard receive(manifest.span.bytes) else { throw TransportError(.stopped, "stopped") }
      return TransportReply(status: 200, received: Int64(manifest.count))
    }
    if let others, !request.url.hasPrefix(BuildDevice.server) {
      return try others.get(request, receive: receive)
    }
    return TransportReply(status: 404, received: 0)
  }

  private func read(
    _ path: String, _ receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var done: Int64 = 0
    do {
      let open = try Kernel.open(path, [.read, .nonBlocking])
      while true {
        let count = try Kernel.read(open, into: buffer)
        if count == 0 { break }
        done += Int64(count)
        guard receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes) else {
          throw TransportError(.stopped, "stopped")
        }
      }
    } catch let error as TransportError {
      throw error
    } catch {
      throw TransportError(.other, "\(error)")
    }
    return TransportReply(status: 200, received: done)
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
