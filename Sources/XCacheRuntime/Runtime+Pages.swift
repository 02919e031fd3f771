import Manifests
import System
import XCacheClient

extension Runtime {
  /// A page that is open.
  struct Open {
    let page: OpenPage
    /// What was held when it was opened.
    let held: DeviceManifest?
    /// The manifest version that its own document came from; nil where that came from the network, or not yet.
    private(set) var source: String?
    /// Of which the adapter told.
    var milestones: Set<PageMilestone> = []
    /// Whether it came up, or is known not to have.
    var isDecided = false
    /// Whether nobody sees it.
    var isHidden = false {
      didSet { wasHidden = wasHidden || isHidden }
    }
    private(set) var wasHidden = false
    /// Its deadlines so far; the last one counts.
    var deadlines = 0
    private(set) var hasAnswer = false
    /// Updates that wait for its first answer.
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]

    init(_ page: OpenPage, _ held: DeviceManifest?) {
      self.page = page
      self.held = held
    }

    /// Whether its own document came from the device.
    var isLocal: Bool { source != nil }

    mutating func answered(_ answer: PageAnswer, isDocument: Bool, from version: String?) {
      // One that was opened just before a switch may come from what is held since.
      if isDocument, case .local = answer { source = version }
      hasAnswer = true
      release()
    }

    mutating func release() {
      for continuation in waiting.values { continuation.resume() }
      waiting = [:]
    }
  }

  /// A page that is about to load; `close` ends it. Its requests carry it, and so do the signals about it.
  public func open(_ url: String) -> OpenPage {
    let marker = device.map { settings.marker(policy: $0.runtimePolicy.version) }
    let (page, begun) = state.withLock { state -> (OpenPage, CrashMarker?) in
      let held = device?.snapshot
      let page = OpenPage(id: state.nextPage, url: url, version: held?.version ?? "0")
      // The first one that is intercepted: a policy may have switched that on since the start.
      let isFirst = !state.hasMarked && !state.isInterceptionOff
      if isFirst { state.hasMarked = true }
      state.nextPage += 1
      state.pages[page.id] = Open(page, held)
      if isFirst { state.marker = marker }
      return (page, isFirst ? marker : nil)
    }
    device?.pageOpens(page.id)
    if let begun { note(begun.begin) }
    beginDeadline(0, of: page)
    return page
  }

  /// Nobody sees the page, or somebody does again. Engines don't paint what nobody sees, so the deadline of such a page begins when it
  /// is seen.
  public func setHidden(_ isHidden: Bool, _ page: OpenPage) {
    let number = state.withLock { state -> Int? in
      guard let open = state.pages[page.id], open.isHidden != isHidden else { return nil }
      state.pages[page.id]?.isHidden = isHidden
      guard !isHidden, !open.isDecided else { return nil }
      state.pages[page.id]?.deadlines += 1
      return open.deadlines + 1
    }
    if let number { beginDeadline(number, of: page) }
  }

  private func beginDeadline(_ number: Int, of page: OpenPage) {
    let milliseconds = min(max(settings.pageDeadline, 1), 600_000)
    Task { [weak self] in
      try? await Task.sleep(for: .milliseconds(milliseconds))
      self?.endDeadline(number, of: page)
    }
  }

  private func endDeadline(_ number: Int, of page: OpenPage) {
    let isDue = state.withLock { state in
      state.pages[page.id].map { $0.deadlines == number && !$0.isHidden } ?? false
    }
    if isDue { decide(page, failed: .pageFailed) } else { endLoad(of: page) }
  }

  /// The page painted, or its script said that it is ready.
  public func pageCameUp(_ page: OpenPage) { decide(page, failed: nil) }

  /// A script of the page failed; it counts where the page hasn't come up yet. One that nobody sees has, as far as it can, once it is
  /// loaded.
  public func scriptFailed(_ page: OpenPage) {
    let counts = state.withLock { state in
      state.pages[page.id].map { !$0.isHidden || !$0.milestones.contains(.load) } ?? false
    }
    if counts { decide(page, failed: .scriptFailed) }
  }

  /// The page is gone. One that was left before it came up counts for nothing.
  public func close(_ page: OpenPage) {
    endLoad(of: page)
    prefetches?.close(page.id)
    state.withLock { state in
      state.pages[page.id]?.release()
      state.pages[page.id] = nil
    }
    sendCounts()
  }

  /// Waits until what was noted about pages is on the disk.
  package func finishNotes() async { await notes.run {} }

  /// The first page was shown, failed or was left, and the process is still there.
  private func livedThrough() {
    if let marker = state.withLock({ $0.marker.take() }) { note(marker.end) }
  }

  /// The page counts as loading no longer, whatever becomes of it.
  private func endLoad(of page: OpenPage) {
    livedThrough()
    device?.pageIsLoaded(page.id)
  }

  /// Writes something down in its turn. The folder stays this runtime's until that is done.
  func note(_ write: @escaping @Sendable () -> Void) {
    let device = device
    guard isOpen else { return }
    notes.add { withExtendedLifetime(device, write) }
  }

  /// The first signal of a page counts, and that of its deadline is one.
  /// - Parameter failure: as what it counts; nil: the page came up.
  private func decide(_ page: OpenPage, failed failure: DeviceCount?) {
    endLoad(of: page)
    let held = self.version
    let outcome = state.withLock { state -> (version: String?, saved: [UInt8]?) in
      guard let open = state.pages[page.id], !open.isDecided else { return (nil, nil) }
      state.pages[page.id]?.isDecided = true
      // What the network answered says nothing of what is held.
      guard let source = open.source else { return (nil, nil) }
      // The switch itself is noted when its update has ended.
      if let device { state.health.holds(device.version) }
      let key = Self.key(page.url)
      guard let failure else {
        return (nil, state.health.cameUp(key, from: source) ? state.health.saved : nil)
      }
      state.tally.add(failure, holding: held)
      let isNew = state.health.failed(key, from: source)
      return (isNew ? source : nil, state.health.saved)
    }
    if let version = outcome.version { hub.tell(.pageFailed(url: page.url, version: version)) }
    guard let saved = outcome.saved else { return }
    let file = settings.healthFile
    note { try? DurableFile.write(saved, to: file) }
  }

  /// Pages are told apart by their address without query and fragment.
  static func key(_ url: String) -> String {
    (try? ResourceURL(url)).map { String($0.withoutQuery) } ?? url
  }
}
