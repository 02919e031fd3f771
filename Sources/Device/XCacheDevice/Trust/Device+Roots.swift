import Manifests
import System
import Trust
import Values

/// The documents of trust that a device requests by themselves.
extension Device {
  /// Requests the roots up to the one that an answer names, one after another, each once the one before is in force (T-2).
  /// - Parameters:
  ///   - named: the number of the newest root, as the answer has it.
  ///   - source: who answered.
  ///   - followed: what the poll has made so far; it takes note of the check that failed.
  ///   - signal: cancels a poll beside a job; nil for the job's own poll.
  func followRoots(
    to named: Int64?, from source: PollPolicy.Source, _ followed: Locked<FollowedDocuments>,
    signal: StopSignal? = nil
  ) {
    guard let trust, let named = named.flatMap({ RootNumber($0) }) else { return }
    while let next = trust.root.number.next, next <= named, followed.withLock({ $0.mayFollowRoots }) {
      do throws(DeviceError) {
        let failure = try followRoot(next, trust, from: source, signal: signal)
        followed.withLock { $0.rootFailure = failure }
      } catch {
        followed.withLock { followed in
          followed.rootFault = error
          if !error.isStop { followed.report.failures.append(error) }
        }
      }
    }
  }

  /// - Throws: `file`, if it can't be stored; also if the poll was cancelled.
  /// - Returns: the check that failed.
  private func followRoot(
    _ number: RootNumber, _ trust: DeviceTrust, from source: PollPolicy.Source, signal: StopSignal?
  ) throws(DeviceError) -> TrustFailure? {
    let received: Received<TrustRoot>
    switch fetchEnvelope("root/\(number).json", from: source, signal: signal) {
    case .success(let bytes): received = Received(parsing: bytes)
    case .failure(let error):
      if error.isStop { throw error }
      return error.isTooLong ? .rootForm : .rootMissing
    }
    // Another poll may have brought it meanwhile.
    if trust.root.number >= number { return nil }
    return try check(TrustOffer(roots: [received]), by: trust).failure
  }

  /// Requests the newest head.
  /// - Throws: what made it impossible; one that is too long is received, as something that isn't a head.
  func fetchHead(from source: PollPolicy.Source) throws(DeviceError) -> Received<TrustHead> {
    switch fetchEnvelope("head.json", from: source, signal: nil) {
    case .success(let bytes): return Received(parsing: bytes)
    case .failure(let error):
      guard error.isTooLong else { throw error }
      return .failure(.size(Envelope.limit + 1))
    }
  }

  /// Requests an envelope from whom the poll was answered by, and ends the download of anything longer (T-3).
  private func fetchEnvelope(
    _ document: String, from source: PollPolicy.Source, signal: StopSignal?
  ) -> Result<[UInt8], DeviceError> {
    let fetcher = DocumentFetcher(
      transport: documentTransport(signal: signal), limit: Int64(Envelope.limit),
      pace: settings.documentPace)
    return Result { () throws(DeviceError) in
      try fetcher.get(settings.url(ofDocument: document, from: source)) { bytes in
        do throws(JSONError) { _ = try JSONValue.parse(bytes) } catch { return !error.isDamage }
        return true
      }
    }
  }
}

extension DeviceError {
  fileprivate var isTooLong: Bool {
    if case .noAnswer(_, let error) = self { error.kind == .tooLong } else { false }
  }
}
