import CWebKitGTK

/// Loads that are waited for.
extension WebPage {
  /// Waits for a load that `start` begins.
  func loading(_ start: () -> Void) async throws {
    defer { afterLoad.take()?() }
    do {
      try await awaitLoad(start)
    } catch let error as WebKitError where error.isOfNetworkProcess {
      // It ended, and nobody knew it yet; there is another one now.
      try await awaitLoad(start)
    }
  }

  private func awaitLoad(_ start: () -> Void) async throws {
    // What was killed a moment ago is there again for this load.
    host.lookAfterProxy()
    loads += 1
    let number = loads
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        resume(CancellationError())
        (waiting, hasStarted, loadError) = (continuation, false, nil)
        start()
      }
    } onCancel: {
      Task { @WebActor [weak self] in self?.stop(number) }
    }
  }

  /// Ends a load that is waited for: without it, a page that was closed would live until its server answers.
  private func stop(_ number: Int) {
    guard number == loads, waiting != nil else { return }
    resume(CancellationError())
    webkit_web_view_stop_loading(view)
  }
}
