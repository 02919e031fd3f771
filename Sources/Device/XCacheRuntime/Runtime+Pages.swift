import Manifests
import System
import Values
import XCacheDevice

extension Runtime {
  /// The state of an open page.
  struct Open {
    let page: OpenPage
    /// The manifest held when the page was opened, or when it loaded its document again.
    var held: DeviceManifest?
    /// When it was opened, in milliseconds since 1970.
    let begun: Int64
    /// The URL of the page that answers for its address, if nothing is listed there: all routes of a single-page app are one page.
    var fallback: String? {
      didSet { key = Runtime.key(fallback ?? page.url) }
    }
    /// The key that identifies the page, by which its failures are counted and reported.
    private(set) var key: String
    /// The manifest version that its own document came from; nil if that came from the network or hasn't come yet.
    private(set) var source: String?
    /// The milestones that the adapter reported.
    var milestones: Set<PageMilestone> = []
    /// Whether it is known to have come up or failed.
    var isDecided = false
    /// Whether it failed only because it didn't say anything in time.
    var isLate = false
    /// The first error that a promise was rejected with, and nothing handled.
    var rejection: PageError?
    /// Whether the page is out of sight.
    var isHidden = false {
      didSet { wasHidden = wasHidden || isHidden }
    }
    private(set) var wasHidden = false
    /// The listed files that the network has kept from the page. Whatever becomes of it says nothing about its version.
    var lacking: Set<String> = []
    /// The number of deadlines started so far; only the last one counts.
    var deadlines = 0
    private(set) var hasAnswer = false
    /// Updates that are waiting for its first answer.
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]

    init(_ page: OpenPage, _ held: DeviceManifest?, at time: Int64) {
      self.page = page
      self.held = held
      fallback = held?.fallback(at: page.url)
      key = Runtime.key(fallback ?? page.url)
      begun = time
    }

    /// Whether its own document came from the device.
    var isLocal: Bool { source != nil }

    mutating func answered(_ answer: PageAnswer, isDocument: Bool, from version: String?) {
      // The document of a page opened just before a switch may come from the new version. Loaded again, it may come from the network.
      if isDocument {
        if case .local = answer { source = version } else { source = nil }
      }
      hasAnswer = true
      release()
    }

    mutating func release() {
      for continuation in waiting.values { continuation.resume() }
      waiting = [:]
    }
  }

  /// Registers a page that is about to load; `close` ends it. Pass the page along with its requests and the signals about
  /// it.
  public func open(_ url: String) -> OpenPage {
    let marker = device.map { settings.marker(policy: $0.runtimePolicy.version) }
    // In the background, the process may be ended without anything being wrong.
    let isMarkable = !isInterceptionOff && conditions.isForeground
    let now = device?.time ?? 0
    let (page, begun) = state.withLock { state -> (OpenPage, CrashMarker?) in
      let held = device?.snapshot
      let page = OpenPage(id: state.nextPage, url: url, version: held?.version ?? "0")
      // The first page that is intercepted, not the first page: a policy may have switched interception on since the start.
      let isFirst = !state.hasMarked && isMarkable
      if isFirst { state.hasMarked = true }
      state.nextPage += 1
      state.pages[page.id] = Open(page, held, at: now)
      if isFirst { state.marker = marker }
      return (page, isFirst ? marker : nil)
    }
    device?.pageOpened(page.id)
    if let begun {
      // It may be over by then.
      writeNote { [weak self] in
        if self?.state.withLock({ $0.marker != nil }) == true { begun.begin(at: now) }
      }
    }
    beginDeadline(0, of: page)
    return page
  }

  /// Tells the runtime that the page was hidden, or is visible again. Engines don't paint hidden pages, so the deadline of
  /// such a page starts when it becomes visible.
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
      await ProcessTime.sleep(milliseconds: milliseconds)
      self?.endDeadline(number, of: page)
    }
  }

  /// Starts the deadlines of pages anew that were opened, or didn't come up, before the app came back to the foreground: engines don't
  /// paint in the background, either.
  func restartDeadlines() {
    let pages = state.withLock { state in
      state.pages.values.filter { !$0.isDecided && !$0.isHidden }.map { open in
        state.pages[open.page.id]?.deadlines += 1
        return (number: open.deadlines + 1, page: open.page)
      }
    }
    for (number, page) in pages { beginDeadline(number, of: page) }
  }

  private func endDeadline(_ number: Int, of page: OpenPage) {
    let isForeground = conditions.isForeground
    let isDue = state.withLock { state in
      state.pages[page.id].map { $0.deadlines == number && !$0.isHidden && isForeground } ?? false
    }
    if isDue { decide(page, failed: .late) } else { endLoad(of: page) }
  }

  /// The page painted, or its script reported that it is ready.
  public func pageCameUp(_ page: OpenPage) {
    decide(page, failed: nil)
    let late = state.withLock { state -> String? in
      guard let open = state.pages[page.id], open.isLate else { return nil }
      state.pages[page.id]?.isLate = false
      return open.source
    }
    if let late { recordLateSuccess(of: page, from: late) }
  }

  /// A script of the page failed. That counts only if the page hasn't come up yet; a hidden page is taken to have come up
  /// once it is loaded.
  public func scriptFailed(_ page: OpenPage) { scriptFailed(page, PageError(message: "")) }

  /// The same, with what is known of the error. If it counts, a sample of it goes to the origin, stripped of what may be a person's
  /// (docs/protocol.md §12).
  public func scriptFailed(_ page: OpenPage, _ error: PageError) {
    let counts = state.withLock { state in
      // What such a page shows later is no sign that it works.
      state.pages[page.id]?.isLate = false
      return state.pages[page.id].map { !$0.isHidden || !$0.milestones.contains(.load) } ?? false
    }
    if counts { decide(page, failed: .script(error)) }
  }

  /// A promise of the page was rejected, and nothing handled it. That is no failure, but if the page then doesn't come up in time, a
  /// sample of the first such error goes to the origin, since it is likely to be why.
  public func promiseFailed(_ page: OpenPage, _ error: PageError) {
    state.withLock { state in
      guard let open = state.pages[page.id], !open.isDecided, open.rejection == nil else { return }
      state.pages[page.id]?.rejection = error
    }
  }

  /// The engine's process of the page ended by itself; `close` the page after. That counts if the page hasn't come up yet and somebody
  /// sees it: systems end processes that nobody sees to save memory.
  public func processEnded(_ page: OpenPage) {
    let isSeen = state.withLock { state in state.pages[page.id].map { !$0.isHidden } ?? false }
    if isSeen, conditions.isForeground { decide(page, failed: .process) }
  }

  /// The page was closed. A page that was left before it came up isn't counted.
  public func close(_ page: OpenPage) {
    endLoad(of: page)
    prefetches?.close(page.id)
    state.withLock { state in
      state.pages[page.id]?.release()
      state.pages[page.id] = nil
    }
    endStart(of: page)
    sendCounts()
  }

  /// Waits until all notes about pages are on the disk.
  package func finishNotes() async {
    await notes.run {}
    _ = await state.withLock { $0.returning }?.value
  }

  /// Removes the crash marker: the first page was shown, failed or was left, and the process is still alive; or it may be ended
  /// from now on without anything being wrong.
  func removeCrashMarker() {
    if let marker = state.withLock({ $0.marker.take() }) { writeNote(marker.end) }
  }

  /// Stops counting the page as loading, whatever becomes of it.
  private func endLoad(of page: OpenPage) {
    removeCrashMarker()
    device?.pageLoaded(page.id)
  }

  /// Queues something to be written. The folder stays this runtime's until it is done.
  func writeNote(_ write: @escaping @Sendable () -> Void) {
    let device = device
    guard isOpen else { return }
    notes.add { withExtendedLifetime(device, write) }
  }

  /// Decides whether a page came up; only its first signal counts, and the end of its deadline is one.
  private func decide(_ page: OpenPage, failed failure: PageFailure?) {
    endLoad(of: page)
    let held = self.version
    var fallback: String?
    var local: Open?
    let outcome = state.withLock { state -> (version: String?, proven: String?, saved: [UInt8]?) in
      guard let open = state.pages[page.id], !open.isDecided else { return (nil, nil, nil) }
      fallback = open.fallback
      state.pages[page.id]?.isDecided = true
      state.pages[page.id]?.isLate = failure == .late
      // A page answered by the network says nothing about the version held.
      guard let source = open.source else { return (nil, nil, nil) }
      // A switch itself is saved when its update has ended.
      if let device { state.health.setVersion(device.version) }
      let key = open.key
      guard let failure else {
        return (nil, source, state.health.recordSuccess(key, from: source) ? state.health.saved : nil)
      }
      local = open
      state.tally.add(failure.count, holding: held)
      let isNew = state.health.recordFailure(key, from: source)
      return (isNew ? source : nil, nil, state.health.saved)
    }
    if let source = outcome.proven { recordSuccess(of: page, from: source) }
    if let failure, let local { recordSample(of: failure, in: local) }
    if failure != nil, outcome.saved != nil { versionFailed(page) }
    if let version = outcome.version { hub.send(.pageFailed(url: fallback ?? page.url, version: version)) }
    guard let saved = outcome.saved else { return }
    let file = settings.healthFile
    writeNote { try? DurableFile.write(saved, to: file) }
  }

  /// Counts a page that failed against its version, unless the network kept one of its files from it.
  private func versionFailed(_ page: OpenPage) {
    guard let open = state.withLock({ $0.pages[page.id] }), let source = open.source, open.lacking.isEmpty
    else { return endStart(of: page) }
    countFailure(of: page, from: source)
    recordFailure(of: page, open.key, from: source)
  }

  /// The key that identifies a page: its URL without query and fragment.
  static func key(_ url: String) -> String {
    (try? ResourceURL(url)).map { String($0.withoutQuery) } ?? url
  }
}
