import System
import Values

extension Device {
  /// Returns the file that the manifest lists for a URL, fetched first if it is missing; nil if none is listed.
  ///
  /// The fragment is ignored, the query isn't. Also nil while the policy has interception off.
  /// - Throws: `DeviceError`, when a missing file can't be fetched.
  public func resource(for url: String) throws(DeviceError) -> LocalResource? {
    guard !isDisplaced, !runtimePolicy.isKilled(at: policyTime), let url = try? ResourceURL(url) else {
      return nil
    }
    return try listedResource(for: url)
  }

  /// Returns the file for a page that is being opened: like `resource(for:)`, falling back to the URL without its query, and for a route of
  /// a single-page app to the page that answers it. Also nil if the policy excludes the page.
  public func page(for url: String) throws(DeviceError) -> LocalResource? {
    guard intercepts(url), let url = try? ResourceURL(url),
      let file = listed(url, isPage: true, isRoute: true)
    else { return nil }
    return try listedResource(for: file.entry.url)
  }

  /// Like `resource(for:)`, regardless of the policy.
  /// - Parameters:
  ///   - url: the requested URL.
  ///   - fetches: if false, a missing or damaged file gives nil.
  ///   - signal: cancels the fetch.
  func listedResource(
    for url: ResourceURL, fetches: Bool = true, until signal: StopSignal = StopSignal()
  ) throws(DeviceError) -> LocalResource? {
    var supplied = 0
    while true {
      let index = index
      guard let entry = index.urls[url] else { return nil }
      switch try openFile(of: entry) {
      case .ready(let resource): return resource
      case .superseded: continue
      case .absent:
        guard fetches else { return nil }
        // More than once only if the disk, or an update, removed what was just put there.
        guard supplied < 3 else {
          throw .file(
            path: folder.file(entry.name), call: "open", code: Errno.noSuchFileOrDirectory.rawValue,
            reason: "The file keeps going away")
        }
        if supplied == 0 { cache.withLock { $0.countMiss() } }
        supplied += 1
        try gate.fetchForPage(entry.sha256, until: signal) { () throws(DeviceError) in
          // Another fetch may have finished since the check.
          let path = folder.file(entry.name)
          if cache.withLock({ $0.lists(entry) && $0.has(entry) }), folder.status(path) != nil { return }
          _ = try supply(entry, until: signal)
        }
      }
    }
  }

  private enum Found {
    case ready(LocalResource)
    /// There is no file, or it was damaged and has been removed.
    case absent
    /// An update has switched manifests since the entry was looked up.
    case superseded
  }

  private func openFile(of entry: HeldEntry) throws(DeviceError) -> Found {
    let path = folder.file(entry.name)
    let opened = try openListed(entry, at: path)
    let isListed = opened.isListed
    guard let file = opened.take() else { return isListed ? .absent : .superseded }
    let status = try onDisk(path) { () throws(SystemError) in try Kernel.status(file) }
    let mark = FileMark(status)
    if !cache.withLock({ $0.isVerified(entry, as: mark) }) {
      // Nil also if it can't be read to its end.
      guard status.kind == .file, (try? CacheFolder.digest(file)) == entry.bytes else {
        damage.withLock { $0 += 1 }
        try cache.withLock { cache throws(DeviceError) in try cache.discard(entry) }
        return .absent
      }
      cache.withLock { $0.markVerified(entry, as: mark) }
    }
    return .ready(LocalResource(entry, file))
  }

  private struct Opened: ~Copyable {
    private let file: Descriptor?
    let isListed: Bool

    init(_ file: consuming Descriptor?, isListed: Bool) {
      self.file = file
      self.isListed = isListed
    }

    consuming func take() -> Descriptor? { file }
  }

  /// Opens an entry's file under the cache's lock, so that the name still means the entry's bytes.
  private func openListed(_ entry: HeldEntry, at path: String) throws(DeviceError) -> Opened {
    try cache.withLock { cache throws(DeviceError) -> Opened in
      try cache.checkOpen()
      guard cache.lists(entry) else { return Opened(nil, isListed: false) }
      try cache.move(entry.name, at: now())
      guard cache.has(entry) else { return Opened(nil, isListed: true) }
      do throws(DeviceError) {
        let file = try onDisk(path) { () throws(SystemError) in
          // Not blocking: a FIFO's writer would be waited for under the lock.
          try Kernel.openExisting(path, [.read, .noFollow, .nonBlocking])
        }
        if file != nil { cache.uses.use(entry.name) }
        return Opened(file, isListed: true)
      } catch  where error.isUnreadableFile {
        try cache.discard(entry)
        return Opened(nil, isListed: true)
      }
    }
  }

  /// Puts an entry's file in place: copied if the device holds its bytes under another name, otherwise fetched.
  /// - Parameters:
  ///   - entry: the entry whose file is missing.
  ///   - signal: cancels the fetch.
  /// - Returns: the number of bytes received; nil if the file was copied.
  func supply(_ entry: HeldEntry, until signal: StopSignal) throws(DeviceError) -> Int64? {
    let part = folder.incoming()
    var received: Int64?
    if try !copyHeld(entry, to: part) {
      var fetcher = fetcher(for: index.version, forPageUntil: signal)
      if let offer = cache.withLock({ $0.backlog.offer(for: entry) }), let base = heldPath(of: offer.base) {
        fetcher.deltas = DeltaTable([offer], bases: [offer.base: base])
      }
      received = try fetcher.fetch(entry, to: part)
    }
    try cache.withLock { cache throws(DeviceError) in try cache.store(part, for: entry, at: now()) }
    return received
  }

  /// Returns the path of a file with these bytes, listed or set aside, or on its way from there; nil if there is none.
  func heldPath(of sha256: SHA256) -> String? {
    if folder.status(folder.aside(sha256)) != nil { return folder.aside(sha256) }
    let index = index
    return cache.withLock { cache in
      index.entries.first { $0.sha256 == sha256 && cache.has($0) }.map { cache.folder.file($0.name) }
        ?? (folder.status(folder.staged(sha256)) == nil ? nil : folder.staged(sha256))
    }
  }

  private func copyHeld(_ entry: HeldEntry, to target: String) throws(DeviceError) -> Bool {
    let index = index
    let files = cache.withLock { $0.files }
    let twin = index.entries.first {
      $0.sha256 == entry.sha256 && $0.name != entry.name && files[$0.name] != nil
    }
    if let twin, try copyFile(folder.file(twin.name), of: entry, to: target) { return true }
    return try copyFile(folder.aside(entry.sha256), of: entry, to: target)
  }
}
