import Store
import Synchronization
import System

/// Reads every file back once per period, evenly spread, on a low-priority thread.
final class Scrubber: Sendable {
  private let store: Store
  private let pace: ScrubPace
  private let log: @Sendable (String) -> Void
  private let thread = BackgroundThread()
  private let files = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)
  private let state = Locked(ScrubState())
  /// Files that couldn't be read, and when (monotonic seconds), so that they don't come first again at once.
  private let failed = Locked<[ScrubItem.Kind: Double]>([:])

  /// How many files are read before the list is fetched again.
  private static let batch = 256
  /// Seconds after which progress is recorded, and after which the pace is computed again.
  private static let noteSeconds = 60.0
  private static let stateSeconds = 600.0
  /// Seconds after which an unreadable file is retried, if a round takes longer.
  private static let retrySeconds = 3600.0

  /// Creates a scrubber that reads every file once in `period` seconds.
  init(store: Store, period: Double, log: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.log = log
    pace = ScrubPace(period: period)
  }

  func start() throws(SystemError) {
    try thread.start("scrub") { [self] in run() }
  }

  func beginStopping() { thread.beginStopping() }

  /// Stops the thread; its progress is recorded.
  func finish() { thread.stop(within: .seconds(1)) }

  private func run() {
    OSThread.lowerDiskPriority()
    while !thread.isStopping {
      do throws(StoreError) {
        try refresh()
        try store.listZips()
        try readBatch()
      } catch {
        log("error: scrub: \(error)")
        _ = wait(60)
      }
    }
  }

  private func refresh() throws(StoreError) {
    let now = try store.scrubState()
    state.withLock { $0 = now }
  }

  /// Returns the bytes per second that are due now, where `item` is the readable file that has waited longest.
  private func rate(at item: ScrubItem) -> Double {
    let state = state.withLock { $0 }
    let age = Double(Clock.unixMilliseconds() - item.checkedAt) / 1000
    return pace.rate(files: state.files, bytes: state.bytes, age: age)
  }

  /// Returns the next files, except those that recently couldn't be read.
  private func next() throws(StoreError) -> [ScrubItem] {
    let limit = Self.now - min(Self.retrySeconds, pace.period)
    let failed = failed.withLock { failed in
      failed = failed.filter { $0.value > limit }
      return failed
    }
    return try store.nextToScrub(limit: Self.batch + failed.count).filter { failed[$0.kind] == nil }
  }

  private func readBatch() throws(StoreError) {
    let items = try next()
    if items.isEmpty {
      _ = wait(min(Self.noteSeconds, pace.period / 100))
      return
    }
    var read: [ScrubItem] = []
    var isOneGone = false
    var noted = Self.now
    var refreshed = noted
    defer {
      note(&read)
      // Another process removed files under derived/, such as a mirror that found one damaged.
      if isOneGone { store.changes.changed() }
    }
    for item in items {
      let began = Self.now
      let rate = rate(at: item)
      let ofFile = pace.rate(ofFile: item.size, at: rate)
      let result = try store.scrub(item) { count in
        bytes.add(count, ordering: .relaxed)
        return wait(Double(count) / ofFile)
      }
      if result == .stopped { return }
      files.add(1, ordering: .relaxed)
      if result == .bad { logDamage(item) }
      if result == .gone { isOneGone = true }
      if case .failed(let reason) = result {
        log("error: scrub: \(path(item)) can't be read back: \(reason)")
        failed.withLock { $0[item.kind] = Self.now }
      }
      // A missing file has no row, and a damaged blob is on no list until it is restored.
      if result == .good { read.append(item) }
      if Self.now - noted > Self.noteSeconds {
        note(&read)
        noted = Self.now
      }
      guard wait(pace.cost(of: item.size) / rate - (Self.now - began)) else { return }
      if Self.now - refreshed > Self.stateSeconds {
        try refresh()
        refreshed = Self.now
      }
    }
  }

  private func note(_ read: inout [ScrubItem]) {
    do throws(StoreError) {
      try store.noteScrubbed(read)
    } catch {
      // They are read again.
      log("error: scrub: \(error)")
    }
    read = []
  }

  /// Returns a file's path in the data folder.
  private func path(_ item: ScrubItem) -> String {
    switch item.kind {
    case .derived(let path): "derived/\(path)"
    case .blob(let sha256): store.folder.blob(sha256)
    }
  }

  private func logDamage(_ item: ScrubItem) {
    switch item.kind {
    case .derived(let path): log("error: scrub: derived/\(path) was damaged; it is made again when needed")
    case .blob(let sha256):
      let urls = (try? store.damagedURLs(of: [sha256])) ?? []
      let words = urls.map { "\($0.url) (\($0.app) \($0.channel), bundle \($0.bundle))" }
      log(
        "error: scrub: the file \(sha256.hex) is damaged and was set aside; "
          + (words.isEmpty ? "no live URL has it" : "publish again: " + words.joined(separator: ", ")))
    }
  }

  /// Waits; false if the thread is to stop.
  private func wait(_ seconds: Double) -> Bool {
    thread.pause(for: .seconds(min(max(seconds, 0), 1e9)))
  }

  private static var now: Double { Double(Clock.monotonicNanoseconds()) / 1e9 }

  /// The metrics in the Prometheus text format, version 0.0.4.
  var prometheusText: String {
    let state = state.withLock { $0 }
    let age = state.oldest.map { max(0, Clock.unixMilliseconds() - $0) / 1000 } ?? 0
    return Self.metric(
      "xcache_scrub_files_total", "counter", "Files read back since the start.",
      "\(files.load(ordering: .relaxed))")
      + Self.metric(
        "xcache_scrub_bytes_total", "counter", "Their bytes.", "\(bytes.load(ordering: .relaxed))")
      + Self.metric(
        "xcache_scrub_unreadable_files", "gauge",
        "Files that couldn't be read back, for lack of permission for example.",
        "\(failed.withLock { $0.count })")
      + Self.metric(
        "xcache_scrub_oldest_seconds", "gauge", "Seconds since the least recently checked file was read.",
        "\(age)")
  }

  /// The damage found by anything that reads files, the scrub or an answer.
  static func damageText(_ store: Store) -> String {
    let found = store.changes.found
    let waiting = (try? store.damagedBlobs().count) ?? 0
    return "# HELP xcache_damaged_files_total Files whose bytes differ from those that were stored.\n"
      + "# TYPE xcache_damaged_files_total counter\n"
      + "xcache_damaged_files_total{kind=\"blob\"} \(found.blobs)\n"
      + "xcache_damaged_files_total{kind=\"derived\"} \(found.derived)\n"
      + metric(
        "xcache_quarantined_blobs", "gauge", "Damaged blobs waiting to be published again.", "\(waiting)")
  }

  private static func metric(_ name: String, _ type: String, _ help: String, _ value: String) -> String {
    "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name) \(value)\n"
  }
}
