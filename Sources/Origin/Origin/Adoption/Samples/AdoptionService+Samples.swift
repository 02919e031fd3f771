import Manifests
import Store
import System
import Values

extension AdoptionService {
  /// Whether an address may send another error sample in this minute.
  func takesSample(from peer: IPAddress) -> Bool {
    let now = Clock.monotonicNanoseconds()
    return quota.withLock { $0.take(from: peer, now: now) }
  }

  /// Keeps an error sample in memory until the next flush, which looks at whether the version and the page are the channel's.
  func record(_ report: SampleReport, of channel: Int64) {
    samples.withLock { $0.add(report.sample, report.version, of: channel) }
  }

  /// Writes the error samples since the last call.
  func flushSamples() {
    let taken = samples.withLock { buffer in
      defer { buffer = SampleBuffer() }
      return buffer
    }
    do throws(StoreError) {
      try store.keep(taken.reported)
      try store.countOthers(taken.counted)
    } catch {
      log("error: error samples of the last seconds are lost: \(error)")
    }
  }
}
