import HTTP
import Manifests
import System
import Values

/// What the manifest says about a URL: enough to answer a request for it, except the bytes.
package struct ListedFile: Sendable {
  /// The URL under which the manifest lists it.
  package let url: String
  /// The version of the manifest that lists it.
  package let version: String
  /// The media type with its parameters.
  package let contentType: String
  /// The page's own security headers, in the manifest's order.
  package let headers: HTTPFields
  /// The size in bytes.
  package let size: Int64
  /// Of the bytes.
  package let md5: MD5
  /// The hash of the bytes, by which the memory cache keys them.
  package let sha256: SHA256
  /// Whether it is a page that answers for a URL under which nothing is listed (docs/protocol.md §11, D-167).
  package let isFallback: Bool
  let entry: HeldEntry

  init(_ entry: HeldEntry, of version: ManifestVersion, isFallback: Bool = false) {
    self.entry = entry
    self.isFallback = isFallback
    self.version = version.text
    url = entry.url.text
    contentType = entry.contentType
    headers = HTTPFields(entry.headers.fields.map { ($0.name.rawValue, $0.value.text) })
    size = entry.size
    md5 = entry.bytes.md5
    sha256 = entry.sha256
  }
}

extension Device {
  /// Returns what is listed for a URL, regardless of the policy and without disk access; nil if nothing is.
  ///
  /// - Parameters:
  ///   - url: the requested URL.
  ///   - isPage: whether to fall back to the URL without its query.
  ///   - isRoute: whether a page may answer for it that says so in its entry.
  package func listed(_ url: ResourceURL, isPage: Bool, isRoute: Bool = false) -> ListedFile? {
    index.listed(url, isPage: isPage, isRoute: isRoute)
  }

  /// Opens a listed file, fetching it first if it is missing or damaged; nil if it is no longer listed with these bytes.
  /// - Parameters:
  ///   - file: the file, as it was listed.
  ///   - fetches: if false, a missing or damaged file gives nil.
  ///   - signal: cancels the fetch when `stop(signal)` is called.
  /// - Throws: `DeviceError`, if it can't be fetched.
  package func open(
    _ file: ListedFile, fetches: Bool = true, until signal: StopSignal = StopSignal()
  ) throws(DeviceError) -> LocalResource? {
    guard let url = try? ResourceURL(file.url),
      let resource = try listedResource(for: url, fetches: fetches, until: signal),
      resource.sha256 == file.sha256.hex
    else { return nil }
    return resource
  }

  /// Opens a file that was listed when a page was opened; nil if it is gone or damaged, or was set aside over a day ago.
  ///
  /// - Parameter file: the file, as it was listed then.
  package func openSetAside(_ file: ListedFile) -> LocalResource? {
    try? cache.withLock { cache throws(DeviceError) in try cache.move(file.entry.name, at: now()) }
    if let status = folder.status(folder.aside(file.sha256)),
      !DeviceCache.serves(asideSince: status.modified, at: now())
    {
      return nil
    }
    guard let path = heldPath(of: file.sha256),
      let descriptor = try? Kernel.openExisting(path, [.read, .noFollow, .nonBlocking]),
      let digest = try? CacheFolder.digest(descriptor)
    else { return nil }
    guard digest == file.entry.bytes else {
      damage.withLock { $0 += 1 }
      // A listed file with the same bytes is repaired when it is requested.
      if path == folder.aside(file.sha256) { try? folder.remove(path) }
      return nil
    }
    return LocalResource(file.entry, descriptor)
  }

  /// Whether the manifest that a page was opened from isn't in force any more, but still answers it: no rollback has ended
  /// that.
  package func isOlder(_ manifest: DeviceManifest) -> Bool {
    let index = index
    guard !manifest.isOf(index) else { return false }
    return !policy.withLock { $0.isRolledBack(from: manifest.version, to: index.version.number) }
  }

  /// Records that a page used a listed file without reading it from the disk.
  package func recordUse(_ file: ListedFile) { uses.use(file.entry.name) }

  /// The manifest currently held.
  package var snapshot: DeviceManifest { DeviceManifest(index) }

  /// Whether the held policy has switched interception off for every page.
  package var isKilled: Bool { runtimePolicy.isKilled(at: policyTime) }

  /// Whether a URL's host is in the app's list.
  package func isAllowed(_ url: ResourceURL) -> Bool { settings.hosts.contains(url) }
}

/// The manifest held at some moment, for pages that were opened then.
package struct DeviceManifest: Sendable {
  private let index: DeviceIndex

  init(_ index: DeviceIndex) { self.index = index }

  /// Its version; `0` if there is none.
  package var version: String { index.version.text }

  /// Returns what it listed for a URL; nil if nothing. The parameters are those of `Device.listed`.
  package func listed(_ url: ResourceURL, isPage: Bool, isRoute: Bool = false) -> ListedFile? {
    index.listed(url, isPage: isPage, isRoute: isRoute)
  }

  /// Returns the URL of the page that answers at an address under which nothing is listed; nil if there is none.
  package func fallback(at address: String) -> String? {
    guard !index.fallbacks.isEmpty, let url = try? ResourceURL(address),
      let file = listed(url, isPage: true, isRoute: true), file.isFallback
    else { return nil }
    return file.url
  }

  fileprivate func isOf(_ other: DeviceIndex) -> Bool {
    index.version == other.version && index.digest == other.digest
  }
}

extension DeviceIndex {
  fileprivate func listed(_ url: ResourceURL, isPage: Bool, isRoute: Bool) -> ListedFile? {
    if let entry = urls[url] { return ListedFile(entry, of: version) }
    if isPage, url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)),
      let entry = urls[plain]
    {
      return ListedFile(entry, of: version)
    }
    return isRoute ? fallbacks[url].map { ListedFile($0, of: version, isFallback: true) } : nil
  }
}
