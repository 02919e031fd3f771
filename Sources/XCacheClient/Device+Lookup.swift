import Manifests
import System

/// What the manifest says of a URL: enough to answer a request for it, but for the bytes.
package struct ListedFile: Sendable {
  /// The URL under which the manifest lists it.
  package let url: String
  /// Of the manifest that lists it.
  package let version: String
  /// The media type with its parameters.
  package let contentType: String
  /// The page's own security headers, in the manifest's order.
  package let headers: [(name: String, value: String)]
  /// Bytes.
  package let size: Int64
  /// Of the bytes.
  package let md5: MD5
  /// Of the bytes; what memory keeps them by.
  package let sha256: SHA256
  let entry: HeldEntry

  init(_ entry: HeldEntry, of version: ManifestVersion) {
    self.entry = entry
    self.version = version.text
    url = entry.url.text
    contentType = entry.contentType
    headers = entry.headers.fields.map { ($0.name.rawValue, $0.value.text) }
    size = entry.size
    md5 = entry.bytes.md5
    sha256 = entry.sha256
  }
}

extension Device {
  /// What is listed for a URL, without a look at the disk; nil where nothing is, whatever the policy says.
  ///
  /// - Parameter isPage: where nothing is listed under the address with its query, the one without counts.
  package func listed(_ url: ResourceURL, isPage: Bool) -> ListedFile? {
    let index = index
    if let entry = index.urls[url] { return ListedFile(entry, of: index.version) }
    guard isPage, url.query != nil, let plain = try? ResourceURL(String(url.withoutQuery)) else { return nil }
    return index.urls[plain].map { ListedFile($0, of: index.version) }
  }

  /// The open file of something that is listed, fetched first where it is missing or damaged; nil where it is listed no
  /// more, or with other bytes.
  /// - Parameters:
  ///   - fetches: false: nil, too, where it is missing or damaged.
  ///   - signal: ends the fetch where `stop(signal)` is called.
  /// - Throws: `ClientError`, where it can't be fetched.
  package func open(
    _ file: ListedFile, fetches: Bool = true, until signal: StopSignal = StopSignal()
  ) throws(ClientError) -> LocalResource? {
    guard let url = try? ResourceURL(file.url),
      let resource = try listedResource(for: url, fetches: fetches, until: signal),
      resource.sha256 == file.sha256.hex
    else { return nil }
    return resource
  }

  /// The open file of something that was listed when a page was opened; nil where it is gone, or damaged, or was set aside a
  /// day ago, or a rollback has left that version behind.
  ///
  /// - Parameter version: that the page was opened from.
  package func openSetAside(_ file: ListedFile, forPageOf version: String) -> LocalResource? {
    let held = index.version.number
    if policy.withLock({ $0.isRolledBack(from: version, to: held) }) { return nil }
    if let status = folder.status(folder.aside(file.sha256)),
      !DeviceCache.serves(asideSince: status.modified, at: now())
    {
      return nil
    }
    guard let path = self.held(file.sha256),
      let descriptor = try? Kernel.openExisting(path, [.read, .noFollow]),
      let digest = try? CacheFolder.digest(descriptor)
    else { return nil }
    guard digest == file.entry.bytes else {
      damage.withLock { $0 += 1 }
      // A listed one, which may have the bytes as well, is put right when somebody asks for it.
      if path == folder.aside(file.sha256) { try? folder.remove(path) }
      return nil
    }
    return LocalResource(file.entry, descriptor)
  }

  /// Takes note that a page used a listed file that didn't have to be read for it.
  package func noteUse(_ file: ListedFile) { uses.use(file.entry.name) }

  /// The manifest that is held now.
  package var snapshot: DeviceManifest { DeviceManifest(index) }

  /// Whether interception is off for every page, by the policy that is held.
  package var isKilled: Bool { runtimePolicy.isKilled(at: now()) }

  /// Whether the app names a URL's host.
  package func isAllowed(_ url: ResourceURL) -> Bool { settings.hosts.contains(url) }
}

/// A manifest that was held at some moment, for pages that were opened then.
package struct DeviceManifest: Sendable {
  private let index: DeviceIndex

  init(_ index: DeviceIndex) { self.index = index }

  /// Its version; `0`: none.
  package var version: String { index.version.text }

  /// What it listed for a URL.
  package func listed(_ url: ResourceURL) -> ListedFile? {
    index.urls[url].map { ListedFile($0, of: index.version) }
  }
}
