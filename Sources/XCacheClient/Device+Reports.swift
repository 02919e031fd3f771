import Manifests

extension Device {
  /// Waits until the failures that this device met were told to the origin, at most so many milliseconds.
  ///
  /// Nobody has to: reports are sent behind the device's back. But a process that ends takes those with it that are
  /// still on their way.
  public func finishReports(milliseconds: Int = 2_000) { reporter.wait(milliseconds) }

  /// Tells of a manifest of the origin's that can't be used.
  func report(_ error: ClientError, from source: PollPolicy.Source, holding held: DeviceIndex) {
    guard source == .origin, let reason = FailureReport.Reason(error) else { return }
    // Of an origin that doesn't answer there is nobody to tell.
    switch error {
    case .noAnswer, .status: return
    default: break
    }
    var version = held.version.text
    if case .wrongDigest(_, let wrong, _, _) = error { version = wrong }
    reporter.report(FailureReport(version: version, url: "", reason: reason))
  }
}
