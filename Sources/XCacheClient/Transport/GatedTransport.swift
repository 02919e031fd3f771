import System

/// A device's transport behind its gate.
struct GatedTransport: Transport {
  /// Who asks.
  enum Use {
    /// A page: it waits for nobody.
    case page
    /// A job, for a document that tells what there is to do.
    case document
    /// A job, for files: pages go first, between any two pieces.
    case files
  }

  let inner: any Transport
  let gate: DownloadGate
  let use: Use
  /// Ends what a page waits for; a job has its own in the gate.
  var signal = StopSignal()
  /// Whether it is one of many files that are fetched at the same time.
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
    // Each answer that doesn't come takes half a minute of everybody who waits for the update.
    if use == .files, gate.isLineDead {
      throw TransportError(.timedOut, "earlier requests got no answer, so no more are sent for now")
    }
    // A page that waits for a file which isn't here gets the network's answer soon, and the next ones at once.
    if use == .page, gate.isPageLineDead {
      throw TransportError(.timedOut, "a page's request got no answer a moment ago")
    }
    var request = request
    request.isOneOfMany = isOneOfMany
    request.isCancelled = { [self] in !shouldContinue }
    if use == .page { request.stallSeconds = DownloadGate.pageTimeout }
    do {
      let reply = try inner.get(request, begin: begin) { bytes in
        guard use == .files ? gate.piece() : shouldContinue else { return false }
        return receive(bytes)
      }
      if isOneOfMany, reply.isMultiplexed { gate.widen() }
      return reply
    } catch {
      switch use {
      case _ where error.kind != .timedOut: break
      case .page: gate.notePageTimeout()
      case .files: gate.countTimeout()
      case .document: break
      }
      throw error
    }
  }

  private var shouldContinue: Bool { use == .page ? !gate.isOver(signal) : !gate.isStopped }

  func tell(_ document: [UInt8], to url: String) { inner.tell(document, to: url) }
}
