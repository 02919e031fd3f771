import System
import XCacheDevice

extension Runtime {
  /// How long `close` waits for a transport that doesn't check whether it should stop.
  private static let timeout: Duration = .seconds(5)

  /// Closes this runtime: stops running jobs, writes the notes and releases the folder, so that another runtime can start
  /// in it once this returns. Every later request is passed on, and triggers no longer lead to polls.
  ///
  /// Fetches for a page or an update end within about a second.
  public func close() async {
    let marker = state.withLock { state -> CrashMarker? in
      state.isClosed = true
      for id in state.pages.keys { state.pages[id]?.release() }
      return state.marker.take()
    }
    prefetches?.close()
    if let device {
      device.beginClosing()
      await pageThreads.waitUntilIdle(within: Self.timeout)
      await smallFetchThreads.waitUntilIdle(within: Self.timeout)
      await fetchThreads.waitUntilIdle(within: Self.timeout)
      await pollThread.waitUntilIdle(within: Self.timeout)
      await updateThread.waitUntilIdle(within: Self.timeout)
      sendCounts(isLast: true)
      await notes.run {
        // The process outlived the loading of its first page.
        marker?.end()
        device.endStart()
        device.releaseFolder()
      }
    }
    hub.finish()
  }

  /// Whether `close` hasn't been called.
  var isOpen: Bool { !state.withLock { $0.isClosed } }
}
