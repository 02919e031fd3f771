import Manifests
import Values
import XCacheDevice

/// Error samples of pages that failed (docs/protocol.md §12).
extension Runtime {
  /// The web engine's name and major version, such as `WebKit 605.1`, for error samples; empty if it isn't known. `PageWatch.script`
  /// tells it; an adapter that doesn't run that script may set it. Whatever else is in it isn't kept.
  public var engine: String {
    get { state.withLock { $0.engine } }
    set {
      let engine = SampleText.engine(newValue)
      state.withLock { $0.engine = engine }
    }
  }

  /// Makes the sample of a page that failed, unless there is one already or the origin wants none, and sends it if the origin takes
  /// samples now.
  func recordSample(of failure: PageFailure, in open: Open) {
    guard let device, isOpen, !device.refusesSamples, let source = open.source,
      let version = ManifestVersion(text: source), version > .none
    else { return }
    let (kind, error) = Self.cause(of: failure, in: open)
    let engine = state.withLock { $0.samples.isFull(for: version, open.key, kind) ? nil : $0.engine }
    guard let engine else { return }
    let held = open.held.flatMap { $0.version == source ? $0 : nil }
    // What another version lists says nothing about the paths of this one.
    let manifest = held ?? { $0.version == source ? $0 : nil }(device.snapshot)
    let sample = ErrorSample(
      kind, message: Self.withServerURLs(error.message), page: open.key, engine: engine,
      stack: StackText.frames(Self.withServerURLs(error.stack), atMost: ErrorSample.frames),
      address: Self.key(open.page.url),
      listed: { url in
        (try? ResourceURL(url)).flatMap { manifest?.listed($0, isPage: false) } != nil
      })
    state.withLock { $0.samples.add(sample, of: open.key, version) }
    sendSamples()
  }

  /// Sends the samples that are waiting, if the origin answered the last poll; those that it doesn't want are forgotten.
  func sendSamples() {
    guard let device, device.takesBatches, !conditions.isOffline else { return }
    for made in state.withLock({ $0.samples.take() }) { device.send(made) }
  }

  /// Returns the kind of sample that a failure makes, and what it says.
  private static func cause(of failure: PageFailure, in open: Open) -> (ErrorSample.Kind, PageError) {
    switch failure {
    case .script(let error):
      (
        .script,
        error.message.isEmpty ? PageError(message: "A script of the page failed.", stack: error.stack) : error
      )
    case .process: (.process, PageError(message: "The process that showed the page ended."))
    case .late:
      if let rejection = open.rejection {
        (
          .rejection,
          rejection.message.isEmpty
            ? PageError(message: "A promise was rejected, and nothing handled it.", stack: rejection.stack)
            : rejection
        )
      } else {
        (.page, PageError(message: "The page did not come up in time."))
      }
    }
  }

  /// Replaces the scheme that the engine's pages are on by the server's.
  private static func withServerURLs(_ text: String) -> String {
    guard text.contains(CustomScheme.prefix) else { return text }
    return text.replacing("\(CustomScheme.https)://", with: "https://").replacing(
      "\(CustomScheme.http)://", with: "http://")
  }
}
