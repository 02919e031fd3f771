import Manifests
import System
import XCacheClient

extension Runtime {
  /// What becomes of a request: an answer from this device, or the network's.
  ///
  /// It waits for a listed file that is missing or damaged until that was fetched.
  public func answer(_ request: PageRequest) async -> PageAnswer {
    if let page = request.page { device?.pageAsks(page.id) }
    let answer = await decide(request)
    count(answer, request)
    return answer
  }

  private func decide(_ request: PageRequest) async -> PageAnswer {
    guard let device else { return .network(.unavailable) }
    guard isOpen else { return .network(.closed) }
    guard request.method == "GET" || request.method == "HEAD", let url = try? ResourceURL(request.url) else {
      return .network(.notCacheable)
    }
    if let reason = passes(request, url, device) { return .network(reason) }
    let isPage = request.destination == .document || request.destination == .frame
    guard let file = device.listed(url, isPage: isPage) else { return await setAside(request, url, device) }
    guard let head = LocalHead(request, file, allowsOrigin: device.isAllowed) else {
      return .network(.condition)
    }
    if request.method == "HEAD" || head.range.isEmpty { return .local(LocalAnswer(head, .empty)) }
    if let bytes = state.withLock({ $0.memory.bytes(file.sha256) }) {
      device.noteUse(file)
      return .local(LocalAnswer(head, bytes, isFromMemory: true))
    }
    return await fromDisk(file, head, device)
  }

  /// Why a request is none of the runtime's; nil where it may be.
  private func passes(_ request: PageRequest, _ url: ResourceURL, _ device: Device) -> PassReason? {
    if state.withLock({ $0.isInterceptionOff }) { return .crashLoop }
    if device.isKilled { return .killed }
    guard device.isAllowed(url) else { return .foreignHost }
    guard let page = request.page else { return nil }
    guard device.isAllowed(page.url) else { return .foreignHost }
    guard device.intercepts(page.url) else { return .bypassed }
    return state.withLock { $0.health.isFailed(Self.key(page.url)) } ? .pageFailed : nil
  }

  /// A page of an older version still gets what the manifest lists no more, so that its lazy parts load.
  private func setAside(_ request: PageRequest, _ url: ResourceURL, _ device: Device) async -> PageAnswer {
    guard let page = request.page, page.version != device.version,
      let held = state.withLock({ $0.pages[page.id]?.held })
    else { return .network(.notListed) }
    return await pageThreads.run {
      guard let file = held.listed(url), let resource = device.openSetAside(file, forPageOf: page.version),
        let head = LocalHead(request, file, allowsOrigin: device.isAllowed)
      else { return .network(.notListed) }
      if request.method == "HEAD" { return .local(LocalAnswer(head, .empty)) }
      return .local(
        LocalAnswer(head, .file(resource, start: head.range.lowerBound, count: Int64(head.range.count))))
    }
  }

  private func fromDisk(_ file: ListedFile, _ head: LocalHead, _ device: Device) async -> PageAnswer {
    var result = await pageThreads.run { self.read(file, head, device, fetches: false) }
    if case .success(nil) = result {
      // On threads of their own: a server that hangs must not keep anybody from what is here.
      result = await fetchThreads.run { self.read(file, head, device, fetches: true) }
    }
    switch result {
    case .success(let answer?): return .local(answer)
    // An update took it away meanwhile, or the disk gave less than it holds.
    case .success(nil): return .network(.unavailable)
    case .failure(let error):
      hub.tell(.failed(error))
      return .network(.unavailable)
    }
  }

  private func read(
    _ file: ListedFile, _ head: LocalHead, _ device: Device, fetches: Bool
  ) -> Result<LocalAnswer?, ClientError> {
    do throws(ClientError) {
      guard let resource = try device.open(file, fetches: fetches) else { return .success(nil) }
      guard file.size <= MemoryCache.largestFile else {
        return .success(
          LocalAnswer(head, .file(resource, start: head.range.lowerBound, count: Int64(head.range.count))))
      }
      let bytes = try resource.read()
      guard bytes.count == file.size else { return .success(nil) }
      state.withLock { $0.memory.keep(bytes, as: file.sha256) }
      return .success(LocalAnswer(head, bytes, isFromMemory: false))
    } catch {
      return .failure(error)
    }
  }

  private func count(_ answer: PageAnswer, _ request: PageRequest) {
    state.withLock { state in
      switch answer {
      case .local(let answer):
        if answer.isFromMemory { state.counts.memory += 1 } else { state.counts.disk += 1 }
        state.tally.counts.add(.local)
      case .network(let reason):
        state.counts.passed[reason, default: 0] += 1
        if reason.countsAsPassed { state.tally.counts.add(.passed) }
      }
      guard let id = request.page?.id else { return }
      state.pages[id]?.answered(answer, isDocument: request.destination == .document)
    }
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
