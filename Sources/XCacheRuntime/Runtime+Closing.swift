import System
import XCacheClient

extension Runtime {
  /// How long `close` waits for a transport that doesn't ask whether it is to end.
  private static let timeout: Duration = .seconds(5)

  /// Ends this runtime: what runs is stopped, the notes are written, and the folder is let go of, so that another runtime may
  /// start on it when this returns. Every later request is passed on, and no trigger leads to a poll.
  ///
  /// What is being fetched for a page or an update ends within about a second.
  public func close() async {
    let marker = state.withLock { state -> CrashMarker? in
      state.isClosed = true
      for id in state.pages.keys { state.pages[id]?.release() }
      return state.marker.take()
    }
    prefetches?.close()
    if let device {
      device.beginClosing()
      await pageThreads.idle(within: Self.timeout)
      await fetchThreads.idle(within: Self.timeout)
      await updateThread.idle(within: Self.timeout)
      sendCounts(isLast: true)
      await notes.run {
        // The process didn't end while the page loads.
        marker?.end()
        device.releaseFolder()
      }
    }
    hub.finish()
  }

  /// Whether `close` wasn't called.
  var isOpen: Bool { !state.withLock { $0.isClosed } }
}
