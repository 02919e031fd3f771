import Manifests
import System
import Values

extension Device {
  /// The prefetch config that the device follows: while it holds the candidate of a rollout, the one that goes along with it, unless
  /// the channel has a newer one. (A static copy may have ended the rollout without a word: then its config's number says so.)
  public var prefetch: PrefetchPlan {
    let taken = index.candidate
    let named = rollout.withLock { $0.prefetch(holding: taken) }
    return documents.withLock { documents in
      let candidate = documents.candidatePrefetch
      return named == candidate.number && candidate.number > documents.prefetch.number
        ? candidate : documents.prefetch
    }
  }

  /// The policy that the device holds.
  public var runtimePolicy: RuntimePolicy { documents.withLock { $0.policy } }

  /// Returns the requests to send ahead when a page opens; none for a page that must not be intercepted.
  ///
  /// Requests to hosts that aren't in the app's list are left out.
  public func prefetchRequests(for page: String) -> [PrefetchRequest] {
    guard intercepts(page), isAllowed(page) else { return [] }
    return prefetch.requests(for: page).filter { isAllowed($0.url) }
  }

  /// Whether a URL's host is in the app's list.
  public func isAllowed(_ url: String) -> Bool {
    (try? ResourceURL(url)).map { settings.hosts.contains($0) } ?? false
  }

  /// Whether the policy allows a page to be answered from the device; `page(for:)` and `resource(for:on:)` check this
  /// themselves.
  public func intercepts(_ page: String) -> Bool {
    !isDisplaced && runtimePolicy.intercepts(page, at: policyTime)
  }

  /// Returns the file for a URL that a page requests, like `resource(for:)`; nil if the policy excludes the page.
  public func resource(for url: String, on page: String) throws(DeviceError) -> LocalResource? {
    intercepts(page) ? try resource(for: url) : nil
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

// MARK: - Following

extension Device {
  /// Fetches the documents that an answer names in a higher version than the one held. Failures are listed in the report and
  /// retried at the next poll; they don't keep the manifest from being updated.
  /// - Parameter signal: cancels a poll beside a job; nil for the job's own poll.
  func follow(
    _ extras: AnswerExtras, from source: PollPolicy.Source, by choice: VersionChoice,
    _ followed: Locked<FollowedDocuments>, beside signal: StopSignal? = nil
  ) {
    // Beside an update the rule isn't kept, and so isn't what it names.
    let candidate = signal != nil ? nil : extras.rollout.flatMap { choice.isIn(by: $0) ? $0.prefetch : nil }
    let kinds: [(DeviceDocuments.Kind, Int64?)] = [
      (.policy, extras.policy), (.prefetch, extras.prefetch), (.candidatePrefetch, candidate),
    ]
    for (kind, named) in kinds {
      guard let named, followed.withLock({ $0.begins(kind, named) }), isNew(kind, named) else { continue }
      // An answer came: a process that ends from here on hasn't failed to poll.
      savePolicy()
      let result = Result { () throws(DeviceError) in try fetch(kind, named, source, beside: signal) }
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

  /// - Returns: the change; nil if the document was in force already.
  private func fetch(
    _ kind: DeviceDocuments.Kind, _ named: Int64, _ source: PollPolicy.Source, beside signal: StopSignal?
  ) throws(DeviceError) -> DocumentReport.Change? {
    // What was a candidate's is the channel's once the rollout is completed.
    if kind == .prefetch, documents.withLock({ $0.candidatePrefetch.number == named }),
      let bytes = try? DurableFile.read(
        folder.document(.candidatePrefetch), limit: Int(DeviceDocuments.limit))
    {
      let held = documents.withLock { $0.version(kind) }
      let taken: Void? = try? keeping.withLock { _ throws(DeviceError) in
        // Another poll may have brought a newer one meanwhile.
        guard isNew(kind, named) else { return }
        try keep(bytes, kind, named, from: folder.document(.candidatePrefetch), besideJob: signal != nil)
      }
      if taken != nil {
        return named == held ? nil : DocumentReport.Change(from: String(held), to: String(named))
      }
    }
    let url = settings.url(kind, named, from: source)
    let fetcher = DocumentFetcher(
      transport: documentTransport(beside: signal), limit: DeviceDocuments.limit, pace: settings.documentPace)
    let bytes = try fetcher.get(url) { bytes in
      do throws(JSONError) { _ = try JSONValue.parse(bytes) } catch { return !error.isDamage }
      return true
    }
    let isOfRunningJob = signal != nil
    return try keeping.withLock { _ throws(DeviceError) in
      let held = documents.withLock { $0.version(kind) }
      // Another poll may have brought it meanwhile.
      guard isNew(kind, named) else { return nil }
      try keep(bytes, kind, named, from: url, besideJob: isOfRunningJob)
      return named == held ? nil : DocumentReport.Change(from: String(held), to: String(named))
    }
  }

  /// Replaces a document by the named version of it.
  ///
  /// It takes effect even if it can't be written to the disk: the kill switch must always work.
  /// - Throws: `unreadable`, also for another version, as a cache may have; `file`, after which the next poll tries to write it
  ///   again.
  private func keep(
    _ bytes: [UInt8], _ kind: DeviceDocuments.Kind, _ named: Int64, from url: String, besideJob: Bool
  ) throws(DeviceError) {
    var next = documents.withLock { $0 }
    guard next.take(kind, bytes) else {
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
    if kind == .policy, isChange { policyTaken.withLock { $0 }() }
    // Whoever has closed the device, or taken its folder, has it written by the next poll.
    guard cache.withLock({ $0.isOurs }) else { return }
    try write(bytes, to: folder.document(kind), besideJob: besideJob)
    documents.withLock { _ = $0.unwritten.remove(kind) }
    if kind == .policy { tidyScripts() }
  }

  /// Writes a document. On a full disk, what was set aside makes room for it; then, except beside an update that is running,
  /// what earlier ones left, the largest first.
  private func write(_ bytes: [UInt8], to path: String, besideJob: Bool) throws(DeviceError) {
    do {
      return try folder.write(bytes, to: path)
    } catch  where error.isDiskFull {
      try folder.forgetAnswer()
      try cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
    }
    var left = besideJob ? [] : try folder.leftovers(except: Set(index.entries.map(\.sha256)))
    while true {
      do {
        return try folder.write(bytes, to: path)
      } catch {
        guard error.isDiskFull, let largest = left.popLast() else { throw error }
        try folder.remove(largest)
      }
    }
  }

  /// Has `body` called whenever another policy is in force: at once, on the thread that fetched it.
  package func onPolicy(_ body: @escaping @Sendable () -> Void) { policyTaken.withLock { $0 = body } }
}

/// What one poll has made of the documents that its answers named.
struct FollowedDocuments {
  var report = DocumentReport()
  private var begun: [DeviceDocuments.Kind: Set<Int64>] = [:]

  /// Whether a version is named for the first time in this poll, whose answer may have to be requested several times.
  mutating func begins(_ kind: DeviceDocuments.Kind, _ named: Int64) -> Bool {
    begun[kind, default: []].insert(named).inserted
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

extension Device {
  /// Returns a script that the policy names, fetched if the device doesn't have it; nil if there is none of that
  /// name, or interception is off.
  ///
  /// Its SHA-256 is checked against the policy, and its signature against the key in the settings.
  /// - Throws: `badSetting` without a key; `noAnswer`; `status`; `unreadable` for wrong bytes or a wrong signature.
  public func script(_ name: String) throws(DeviceError) -> [UInt8]? {
    try script(name, until: StopSignal())
  }

  /// The names of the policy's scripts, in its order; empty if interception is off, or the app has no key to verify
  /// them.
  package var scripts: [String] {
    let policy = runtimePolicy
    return settings.scriptKey == nil || policy.isKilled(at: policyTime) ? [] : policy.scripts.map(\.name)
  }

  /// Like `script(_:)`, but `stop(signal)` cancels it.
  package func script(_ name: String, until signal: StopSignal) throws(DeviceError) -> [UInt8]? {
    let policy = runtimePolicy
    guard !policy.isKilled(at: policyTime), let script = policy.scripts.first(where: { $0.name == name })
    else {
      return nil
    }
    guard isAllowed(script.download) else {
      throw .unreadable(url: script.download, reason: "the script's host is not one of the app's hosts")
    }
    guard let key = settings.scriptKey else {
      throw .badSetting(name: "The key that scripts are signed by", value: "")
    }
    guard let sha256 = SHA256(hex: script.sha256) else { return nil }
    let path = folder.script(sha256)
    let held = try? DurableFile.read(path, limit: PolicyScript.limit)
    let bytes =
      if let held {
        held
      } else {
        try fetchScript(script.download, sha256, until: signal)
      }
    guard SHA256.of(bytes) == sha256 else {
      if held != nil { try folder.remove(path) }
      throw .unreadable(url: script.download, reason: "the script's SHA-256 differs from the policy's")
    }
    guard let signature = Base64.decode(script.signature), Ed25519.verifies(signature, of: bytes, by: key)
    else {
      throw .unreadable(url: script.download, reason: "the script isn't signed by this app's key")
    }
    if held == nil {
      try onDisk(path) { () throws(SystemError) in try Kernel.makeFolder(DurableFile.parent(of: path)) }
      try folder.write(bytes, to: path)
    }
    return bytes
  }

  private func fetchScript(
    _ url: String, _ sha256: SHA256, until signal: StopSignal
  ) throws(DeviceError) -> [UInt8] {
    var transport = transport(for: .page)
    transport.signal = signal
    let fetcher = DocumentFetcher(transport: transport, limit: Int64(PolicyScript.limit))
    return try fetcher.get(url) { SHA256.of($0) == sha256 }
  }
}
