import System
import Values
import XCacheDevice

extension Runtime {
  /// Answers a request from this device, or says that it has to go to the network.
  ///
  /// If a listed file is missing or damaged, it waits until the file is fetched, once for everyone who asks for it; large
  /// files, and parts of them, go to the network. If the calling task is cancelled it returns at once; a fetch that nobody
  /// waits for any more is stopped.
  public func answer(_ request: PageRequest) async -> PageAnswer {
    if let page = request.page { device?.pageRequested(page.id) }
    let (answer, version) = await decide(request)
    await beginStart(of: request, answer, from: version)
    countOpening(request, answer, from: version)
    count(answer, request, from: version)
    return answer
  }

  /// An answer, and the manifest version that it comes from.
  typealias Decision = (answer: PageAnswer, version: String?)

  private func decide(_ request: PageRequest) async -> Decision {
    guard let device else { return (.network(.unavailable), nil) }
    guard isOpen else { return (.network(.closed), nil) }
    guard request.method == "GET" || request.method == "HEAD", let url = try? ResourceURL(request.url) else {
      return (.network(.notCacheable), nil)
    }
    let (isPage, isRoute) = (request.isPage, request.isRoute)
    let file = device.listed(url, isPage: isPage, isRoute: isRoute)
    note(file, for: request)
    if let reason = passReason(request, url, device) { return (.network(reason), nil) }
    if let older = older(for: request, device),
      let file = older.listed(url, isPage: isPage, isRoute: isRoute),
      let answer = await answer(request, withOlder: file, device)
    {
      return (answer, older.version)
    }
    guard let file else { return (.network(.notListed), nil) }
    return (await answer(request, with: file, device), file.version)
  }

  /// Notes which page's document it is, if that isn't the one of the page's own address.
  private func note(_ file: ListedFile?, for request: PageRequest) {
    guard request.destination == .document, let page = request.page else { return }
    let fallback = file.flatMap { $0.isFallback ? $0 : nil }
    state.withLock { $0.pages[page.id]?.fallback = fallback?.url }
  }

  private func answer(_ request: PageRequest, with file: ListedFile, _ device: Device) async -> PageAnswer {
    guard let head = LocalHead(request, file, allowsOrigin: device.isAllowed) else {
      return .network(.condition)
    }
    if request.method == "HEAD" || head.range.isEmpty { return .local(LocalAnswer(head, .empty)) }
    if let bytes = state.withLock({ $0.memory.bytes(file.sha256) }) {
      device.recordUse(file)
      return .local(LocalAnswer(head, bytes, isFromMemory: true))
    }
    return await fromDisk(file, head, device, for: request)
  }

  /// Why the runtime must not answer a request; nil if it may.
  func passReason(_ request: PageRequest, _ url: ResourceURL, _ device: Device) -> PassReason? {
    if let reason = passReasonForAll(device) { return reason }
    guard device.isAllowed(url) else { return .foreignHost }
    guard let page = request.page else { return nil }
    guard let address = try? ResourceURL(page.url) else { return .foreignHost }
    return passReason(of: page, address, isDocument: request.destination == .document, device)
  }

  /// Why the runtime must leave an open page alone; nil if it need not. One whose document it answered gets the rest from the same
  /// manifest, also when it has failed twice by now: the network may have another version.
  func passReason(
    of page: OpenPage, _ address: ResourceURL, isDocument: Bool, _ device: Device
  ) -> PassReason? {
    let key = state.withLock { $0.pages[page.id]?.key } ?? key(of: address, device)
    let reason = passReasonForPage(address, key, device)
    if reason != .pageFailed || isDocument { return reason }
    return state.withLock { $0.pages[page.id]?.isLocal ?? false } ? nil : reason
  }

  /// Why every request has to go to the network; nil if interception is on.
  func passReasonForAll(_ device: Device) -> PassReason? {
    if isInterceptionOff { return .crashLoop }
    if device.isDisplaced { return .folderInUse }
    return device.isKilled ? .killed : nil
  }

  /// Why the runtime must leave a page alone that isn't open; nil if it need not.
  func passReasonForPage(_ page: ResourceURL, _ device: Device) -> PassReason? {
    passReasonForPage(page, key(of: page, device), device)
  }

  private func passReasonForPage(_ page: ResourceURL, _ key: String, _ device: Device) -> PassReason? {
    guard device.isAllowed(page) else { return .foreignHost }
    guard device.intercepts(page.text) else { return .bypassed }
    return state.withLock { $0.health.isFailed(key) } ? .pageFailed : nil
  }

  /// The key that identifies the page which answers at an address.
  private func key(of address: ResourceURL, _ device: Device) -> String {
    Self.key(device.snapshot.fallback(at: address.text) ?? address.text)
  }

  /// Returns the manifest that a page was opened from, if another one is in force by now: what is still here of it answers the
  /// page first, so that its parts fit together. A page that loads its document again is one of the manifest in force.
  private func older(for request: PageRequest, _ device: Device) -> DeviceManifest? {
    guard let page = request.page, let held = state.withLock({ $0.pages[page.id]?.held }),
      device.isOlder(held)
    else { return nil }
    guard request.destination == .document else { return held }
    let now = device.snapshot
    state.withLock { $0.pages[page.id]?.held = now }
    return nil
  }

  /// Answers a page with a file as it was listed when the page was opened; nil if it isn't here any more.
  private func answer(
    _ request: PageRequest, withOlder file: ListedFile, _ device: Device
  ) async -> PageAnswer? {
    if let url = try? ResourceURL(file.url), device.listed(url, isPage: false)?.sha256 == file.sha256 {
      return await answer(request, with: file, device)
    }
    return await pageThreads.run {
      guard let resource = device.openSetAside(file) else { return nil }
      guard let head = LocalHead(request, file, allowsOrigin: device.isAllowed) else {
        return .network(.condition)
      }
      if request.method == "HEAD" { return .local(LocalAnswer(head, .empty)) }
      return .local(LocalAnswer(head, .part(of: resource, head.range)))
    }
  }

  private func fromDisk(
    _ file: ListedFile, _ head: LocalHead, _ device: Device, for request: PageRequest
  ) async -> PageAnswer {
    let outcome = await pageThreads.run { self.load(file, device, fetches: false, until: StopSignal()) }
    if case .success(nil) = outcome { return await supply(file, head, device, for: request) }
    if case .failure(let error) = outcome { hub.send(.failed(error)) }
    return answer(outcome, head)
  }

  /// Returns the answer with what was read of a file.
  func answer(_ outcome: FileFetch.Outcome, _ head: LocalHead) -> PageAnswer {
    // Nil: an update removed the file meanwhile, or the disk returned fewer bytes than it should.
    guard case .success(let bytes?) = outcome else { return .network(.unavailable) }
    switch bytes {
    case .memory(let bytes): return .local(LocalAnswer(head, bytes, isFromMemory: false))
    case .file(let resource): return .local(LocalAnswer(head, .part(of: resource, head.range)))
    }
  }

  /// Reads a file; it is fetched first if it is missing and `fetches` is true.
  func load(
    _ file: ListedFile, _ device: Device, fetches: Bool, until signal: StopSignal
  ) -> FileFetch.Outcome {
    do throws(DeviceError) {
      guard let resource = try device.open(file, fetches: fetches, until: signal) else {
        return .success(nil)
      }
      guard file.size <= MemoryCache.largestFile else { return .success(.file(resource)) }
      let bytes = try resource.read()
      guard bytes.count == file.size else { return .success(nil) }
      state.withLock { $0.memory.keep(bytes, as: file.sha256) }
      return .success(.memory(bytes))
    } catch {
      return .failure(error)
    }
  }

  /// Counts an answer, for the app and for the origin.
  package func count(_ answer: PageAnswer, _ request: PageRequest, from version: String?) {
    let held = self.version
    state.withLock { state in
      switch answer {
      case .local(let answer):
        if answer.isFromMemory { state.counts.memory += 1 } else { state.counts.disk += 1 }
        state.tally.add(.local, holding: held)
      case .network(let reason):
        state.counts.passed[reason, default: 0] += 1
        if reason.countsAsPassed { state.tally.add(.passed, holding: held) }
      }
      guard let id = request.page?.id else { return }
      state.pages[id]?.answered(answer, isDocument: request.destination == .document, from: version)
    }
  }
}

/// The fetch of a file that a page asked for.
enum FileFetch {
  struct Key: Hashable {
    let url: String
    let sha256: SHA256
  }

  enum Bytes: Sendable {
    case memory([UInt8])
    /// A file that is too large for memory.
    case file(LocalResource)
  }

  /// Nil if the file is no longer listed.
  typealias Outcome = Result<Bytes?, DeviceError>
  typealias Run = SharedRun<Outcome>
}

extension LocalAnswer.Body {
  /// Part of a file, or nothing.
  fileprivate static func part(of resource: LocalResource, _ range: Range<Int64>) -> Self {
    range.isEmpty ? .empty : .file(resource, start: range.lowerBound, count: Int64(range.count))
  }
}

extension LocalAnswer {
  init(_ head: LocalHead, _ body: Body) {
    self.init(status: head.status, headers: head.headers, body: body, isFromMemory: false)
  }

  init(_ head: LocalHead, _ bytes: [UInt8], isFromMemory: Bool) {
    let isWhole = head.range.count == bytes.count
    let part = isWhole ? bytes : Array(bytes[Int(head.range.lowerBound)..<Int(head.range.upperBound)])
    self.init(status: head.status, headers: head.headers, body: .bytes(part), isFromMemory: isFromMemory)
  }
}
