import Manifests
import System

extension Device {
  /// The prefetch config that the device holds.
  public var prefetch: PrefetchPlan { documents.withLock { $0.prefetch } }

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
  public func intercepts(_ page: String) -> Bool { runtimePolicy.intercepts(page, at: now()) }

  /// Returns the file for a URL that a page requests, like `resource(for:)`; nil if the policy excludes the page.
  public func resource(for url: String, on page: String) throws(ClientError) -> LocalResource? {
    intercepts(page) ? try resource(for: url) : nil
  }
}

// MARK: - Following

extension Device {
  /// Fetches the documents whose versions in an answer differ from those held. Failures are listed in `report` and
  /// retried at the next poll; they don't keep the manifest from being updated.
  func follow(_ extras: AnswerExtras, from source: PollPolicy.Source, _ report: inout DocumentReport) {
    report.policy = follow(.policy, extras.policy, source, &report.failures)
    report.prefetch = follow(.prefetch, extras.prefetch, source, &report.failures)
  }

  private func follow(
    _ kind: DeviceDocuments.Kind, _ named: Int64?, _ source: PollPolicy.Source,
    _ failures: inout [ClientError]
  ) -> DocumentReport.Change? {
    let (held, isUnwritten) = documents.withLock { ($0.version(kind), $0.unwritten.contains(kind)) }
    guard let named, isUnwritten || Self.takes(named, over: held, from: source) else { return nil }
    do {
      let bytes = try fetchDocument(settings.url(kind, from: source), for: .document)
      let version = try keep(bytes, kind, source)
      return version == held ? nil : DocumentReport.Change(from: String(held), to: String(version))
    } catch {
      failures.append(error)
      return nil
    }
  }

  /// As with manifests, a mirror only moves a device to newer versions.
  private static func takes(_ version: Int64, over held: Int64, from source: PollPolicy.Source) -> Bool {
    source == .origin ? version != held : version > held
  }

  func fetchDocument(
    _ url: String, limit: Int64 = DeviceDocuments.limit, for use: GatedTransport.Use = .page,
    until signal: StopSignal = StopSignal()
  ) throws(ClientError) -> [UInt8] {
    var transport = transport(for: use)
    transport.signal = signal
    return try Poller(transport: transport, settings: settings).document(url, limit: limit)
  }

  /// Replaces a document, and returns the version that is held afterwards.
  ///
  /// It takes effect even if it can't be written to the disk: the kill switch must always work.
  /// - Throws: `unreadable`; `file`, after which the next poll tries to write it again.
  private func keep(
    _ bytes: [UInt8], _ kind: DeviceDocuments.Kind, _ source: PollPolicy.Source
  ) throws(ClientError) -> Int64 {
    var next = documents.withLock { $0 }
    let held = next.version(kind)
    guard next.take(kind, bytes) else {
      let url = settings.url(kind, from: source)
      throw .unreadable(url: url, reason: "it is not the expected document")
    }
    // A cache in between may still serve an older one.
    let isUnwritten = next.unwritten.contains(kind) && next.version(kind) == held
    guard isUnwritten || Self.takes(next.version(kind), over: held, from: source) else { return held }
    next.unwritten.insert(kind)
    documents.withLock { [next] in $0 = next }
    try folder.write(bytes, to: folder.document(kind))
    documents.withLock { _ = $0.unwritten.remove(kind) }
    return next.version(kind)
  }
}

extension Device {
  /// Returns a script that the policy names, fetched if the device doesn't have it; nil if there is none of that
  /// name, or interception is off.
  ///
  /// Its SHA-256 is checked against the policy, and its signature against the key in the settings.
  /// - Throws: `badSetting` without a key; `noAnswer`; `status`; `unreadable` for wrong bytes or a wrong signature.
  public func script(_ name: String) throws(ClientError) -> [UInt8]? {
    try script(name, until: StopSignal())
  }

  /// The names of the policy's scripts, in its order; empty if interception is off, or the app has no key to verify
  /// them.
  package var scripts: [String] {
    let policy = runtimePolicy
    return settings.scriptKey == nil || policy.isKilled(at: now()) ? [] : policy.scripts.map(\.name)
  }

  /// Like `script(_:)`, but `stop(signal)` cancels it.
  package func script(_ name: String, until signal: StopSignal) throws(ClientError) -> [UInt8]? {
    let policy = runtimePolicy
    guard !policy.isKilled(at: now()), let script = policy.scripts.first(where: { $0.name == name }) else {
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
        try fetchDocument(script.download, limit: Int64(PolicyScript.limit), until: signal)
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
}
