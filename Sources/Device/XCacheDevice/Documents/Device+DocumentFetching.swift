import Manifests
import System
import Trust
import Values

/// The documents that the answer to a poll names: they are fetched before its manifest is judged.
extension Device {
  /// Fetches the documents that an answer names in a higher version than the one held. Failures are listed in the report and
  /// retried at the next poll; they don't keep the manifest from being updated.
  /// - Parameter signal: cancels a poll beside a job; nil for the job's own poll.
  func fetchNamedDocuments(
    _ extras: AnswerExtras, from source: PollPolicy.Source, by choice: VersionChoice,
    _ followed: Locked<FollowedDocuments>, signal: StopSignal? = nil
  ) {
    // Beside an update the rule isn't kept, and so isn't what it names.
    let candidate = signal != nil ? nil : extras.rollout.flatMap { choice.isIn(by: $0) ? $0.prefetch : nil }
    let kinds: [(DeviceDocuments.Kind, Int64?)] = [
      (.policy, extras.policy), (.prefetch, extras.prefetch), (.candidatePrefetch, candidate),
    ]
    for (kind, named) in kinds {
      // By them a prefetch config is judged, and never a policy: a kill switch doesn't wait for a root.
      if kind == .prefetch { followRoots(to: extras.root, from: source, followed, signal: signal) }
      guard let named, followed.withLock({ $0.insert(kind, named) }), isNew(kind, named) else { continue }
      // An answer came: a process that ends from here on hasn't failed to poll.
      savePolicy()
      let result = Result { () throws(DeviceError) in
        try fetchDocument(kind, named, source, root: extras.root, signal: signal)
      }
      followed.withLock { $0.report.add(result, kind) }
    }
  }

  /// Whether a named version has to be fetched: numbers only rise, and a lower one comes from a cache, or from an origin that
  /// was restored, whose next version is above all that it ever had. A candidate's config is the one that its rule names.
  private func isNew(_ kind: DeviceDocuments.Kind, _ named: Int64) -> Bool {
    documents.withLock { documents in
      let held = documents.version(kind)
      let isOther = kind == .candidatePrefetch ? named != held : named > held
      return isOther || named == held && documents.unwritten.contains(kind)
    }
  }

  /// Fetches a document, and keeps it.
  /// - Returns: the change; nil if the document was in force already.
  private func fetchDocument(
    _ kind: DeviceDocuments.Kind, _ named: Int64, _ source: PollPolicy.Source, root: Int64?,
    signal: StopSignal?
  ) throws(DeviceError) -> DocumentReport.Change? {
    let isDuringJob = signal != nil
    let url = settings.url(kind, named, from: source)
    try checkBeforeFetching(kind, named, root: root, url)
    if kind == .prefetch, let bytes = candidatePrefetch(named) {
      let path = folder.document(.candidatePrefetch)
      // One that can't be kept is fetched.
      do { return try keepIfNew(bytes, kind, named, from: path, duringJob: isDuringJob) } catch {}
    }
    let fetcher = DocumentFetcher(
      transport: documentTransport(signal: signal), limit: DeviceDocuments.limit, pace: settings.documentPace)
    let bytes = try fetcher.get(url) { bytes in
      do throws(JSONError) { _ = try JSONValue.parse(bytes) } catch { return !error.isDamage }
      return true
    }
    return try keepIfNew(bytes, kind, named, from: url, duringJob: isDuringJob)
  }

  /// The prefetch config of a candidate, if it has this version: it is the channel's once the rollout is completed.
  private func candidatePrefetch(_ version: Int64) -> [UInt8]? {
    guard documents.withLock({ $0.candidatePrefetch.number == version }) else { return nil }
    return try? DurableFile.read(folder.document(.candidatePrefetch), limit: Int(DeviceDocuments.limit))
  }

  private func keepIfNew(
    _ bytes: [UInt8], _ kind: DeviceDocuments.Kind, _ named: Int64, from url: String, duringJob: Bool
  ) throws(DeviceError) -> DocumentReport.Change? {
    try documentLock.withLock { _ throws(DeviceError) in
      let held = documents.withLock { $0.version(kind) }
      // Another poll may have brought it, or a newer one, meanwhile.
      guard isNew(kind, named) else { return nil }
      if kind != .policy { try checkPrefetch(bytes, named, from: url) }
      try keepDocument(bytes, kind, named, from: url, duringJob: duringJob)
      return named == held ? nil : DocumentReport.Change(from: String(held), to: String(named))
    }
  }

  /// Replaces a document by the named version of it.
  ///
  /// It takes effect even if it can't be written to the disk: the kill switch must always work.
  /// - Throws: `unreadable`, also for another version, as a cache may have; `file`, after which the next poll tries to write it
  ///   again.
  private func keepDocument(
    _ bytes: [UInt8], _ kind: DeviceDocuments.Kind, _ named: Int64, from url: String, duringJob: Bool
  ) throws(DeviceError) {
    var next = documents.withLock { $0 }
    guard next.replace(kind, with: bytes) else {
      throw .unreadable(url: url, reason: "it is not the expected document")
    }
    guard next.version(kind) == named else {
      let reason = "it is version \(next.version(kind)), and the server named version \(named)"
      throw .unreadable(url: url, reason: reason)
    }
    next.unwritten.insert(kind)
    let isChange = documents.withLock { [next] documents in
      defer { documents = next }
      return documents.version(kind) != named
    }
    if kind == .policy, isChange { policyChangeHandler.withLock { $0 }() }
    // Whoever has closed the device, or taken its folder, has it written by the next poll.
    guard cache.withLock({ $0.isOurs }) else { return }
    try writeDocument(bytes, to: folder.document(kind), duringJob: duringJob)
    documents.withLock { _ = $0.unwritten.remove(kind) }
    if kind == .policy { tidyScripts() }
  }

  /// Writes a document. On a full disk, what was set aside makes room for it; then, except beside an update that is running,
  /// what earlier ones left, the largest first.
  func writeDocument(_ bytes: [UInt8], to path: String, duringJob: Bool) throws(DeviceError) {
    do {
      return try folder.write(bytes, to: path)
    } catch  where error.isDiskFull {
      try folder.forgetAnswer()
      try cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
    }
    var left = duringJob ? [] : try folder.leftovers(except: Set(index.entries.map(\.sha256)))
    while true {
      do {
        return try folder.write(bytes, to: path)
      } catch {
        guard error.isDiskFull, let largest = left.popLast() else { throw error }
        try folder.remove(largest)
      }
    }
  }
}

/// What one poll has made of the documents that its answers named.
struct FollowedDocuments {
  var report = DocumentReport()
  /// The check of a root that failed.
  var rootFailure: TrustFailure?
  /// Why a root couldn't be checked.
  var rootFault: DeviceError?
  private var hasBegunHead = false
  private var begunVersions: [DeviceDocuments.Kind: Set<Int64>] = [:]

  /// Whether roots that an answer names are requested: one that can't be used is no other the next time.
  var mayFollowRoots: Bool { rootFailure == nil && rootFault == nil }

  /// Whether a version is named for the first time in this poll, whose answer may have to be requested several times.
  mutating func insert(_ kind: DeviceDocuments.Kind, _ named: Int64) -> Bool {
    begunVersions[kind, default: []].insert(named).inserted
  }

  /// Whether a head is requested for the first time in this poll because a manifest came without one.
  mutating func insertHead() -> Bool {
    defer { hasBegunHead = true }
    return !hasBegunHead
  }
}

extension DocumentReport {
  fileprivate mutating func add(_ result: Result<Change?, DeviceError>, _ kind: DeviceDocuments.Kind) {
    switch (result, kind) {
    case (.success(let change?), .policy): policy = change
    case (.success(let change?), .prefetch): prefetch = change
    case (.success(let change?), .candidatePrefetch): candidatePrefetch = change
    case (.success(nil), _): break
    case (.failure(let error), _): failures.append(error)
    }
  }
}

extension CacheFolder {
  /// Returns the paths of what updates that failed have left, the smallest first, except the files with the given digests.
  fileprivate func leftovers(except needed: Set<SHA256>) throws(DeviceError) -> [String] {
    try names(in: staging).filter { name in SHA256(hex: name).map { !needed.contains($0) } ?? true }
      .map { "\(staging)/\($0)" }
      .sorted { (status($0)?.allocated ?? 0) < (status($1)?.allocated ?? 0) }
  }
}
