import System

/// A device's transport, with requests controlled by its gate.
struct GatedTransport: Transport {
  /// What a request is for.
  enum Use {
    /// A page, which never waits for others.
    case page
    /// A job's document, which says what there is to do.
    case document
    /// A document of a poll beside a job, which goes on when that job ends.
    case concurrentDocument
    /// A job's file: pages take precedence before each chunk.
    case files
  }

  let inner: any Transport
  let gate: DownloadGate
  let use: Use
  /// Cancels a request for a page or beside a job; a job's signal is in the gate.
  var signal = StopSignal()
  /// Whether this is one of many files fetched concurrently.
  var isOneOfMany = false

  func get(
    _ request: TransportRequest, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    try get(request, begin: { _ in true }, receive: receive)
  }

  func get(
    _ request: TransportRequest, begin: (TransportHead) -> Bool, receive: (RawSpan) -> Bool
  ) throws(TransportError) -> TransportReply {
    guard shouldContinue else { throw TransportError(.stopped, "stopped") }
    // Documents are requested only where a poll is allowed.
    if use == .page || use == .files, gate.conditions.isOffline {
      throw TransportError(.unreachable, "there is no network")
    }
    // Each timeout delays the update by half a minute.
    if use == .files, gate.isNetworkDown {
      throw TransportError(.timedOut, "earlier requests got no answer, so no more are sent for now")
    }
    // A page that waits for a missing file gets the network's answer soon, and the following ones at once.
    if use == .page, gate.hasPageTimedOut {
      throw TransportError(.timedOut, "a page's request got no answer a moment ago")
    }
    var request = request
    request.isOneOfMany = isOneOfMany
    request.isCancelled = { [self] in !shouldContinue }
    if use == .page { request.stallSeconds = RequestTimeouts.pageSeconds }
    do {
      let reply = try inner.get(request, begin: begin) { bytes in
        guard use == .files ? gate.waitForPages() : shouldContinue else { return false }
        return receive(bytes)
      }
      if isOneOfMany, reply.isMultiplexed { gate.widen() }
      return reply
    } catch {
      switch use {
      case _ where error.kind != .timedOut: break
      case .page: gate.recordPageTimeout()
      case .files: gate.countTimeout()
      case .document, .concurrentDocument: break
      }
      throw error
    }
  }

  private var shouldContinue: Bool {
    switch use {
    case .page, .concurrentDocument: !gate.isStopped(signal)
    case .document, .files: !gate.isJobStopped
    }
  }

  func tell(_ document: [UInt8], to url: String) { inner.tell(document, to: url) }
}
