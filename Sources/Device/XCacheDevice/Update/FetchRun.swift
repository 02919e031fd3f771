import System

/// Fetches a list of files concurrently, and reports progress.
struct FetchRun: Sendable {
  let fetcher: Fetcher
  let gate: DownloadGate
  let progress: (@Sendable (Progress) -> Void)?
  /// Called for each chunk; false cancels the run, which then throws `.stopped`.
  var shouldContinue: @Sendable () -> Bool = { true }

  /// Fetches each entry to the path that `target` returns, and returns the bytes received over the network.
  ///
  /// The first failure ends the run and is thrown; files fetched before it stay.
  func run(
    _ entries: [HeldEntry], to target: @escaping @Sendable (HeldEntry) -> String,
    then done: @escaping @Sendable (HeldEntry) throws(DeviceError) -> Void = { _ in }
  ) throws(DeviceError) -> Int64 {
    let total = entries.clampedSum(\.size)
    let state = Locked(State(progress: Progress(filesTotal: entries.count, bytesTotal: total)))
    let (fetcher, gate, report, mayContinue) = (fetcher, gate, progress, shouldContinue)
    try Parallel.forEach(entries.count, threads: gate.threads) { index throws(DeviceError) in
      let entry = entries[index]
      do throws(DeviceError) {
        let received = try gate.runInTurn { () throws(DeviceError) -> Int64 in
          // Fetches still waiting for their turn don't start; the one that failed throws.
          if state.withLock({ $0.hasFailed }) { return 0 }
          let received = try fetcher.fetch(entry, to: target(entry)) { count in
            let (now, shouldContinue) = state.withLock { $0.addBytes(count) }
            report?(now)
            return shouldContinue && mayContinue()
          }
          try done(entry)
          return received
        }
        let now = state.withLock { $0.finishFile(received) }
        report?(now)
      } catch {
        state.withLock { $0.hasFailed = true }
        throw error
      }
    }
    return state.withLock { $0.received }
  }

  private struct State {
    var progress: Progress
    var received: Int64 = 0
    /// Makes the other fetches stop, too.
    var hasFailed = false

    mutating func addBytes(_ count: Int) -> (Progress, shouldContinue: Bool) {
      // A second attempt receives some bytes again.
      progress.bytes = min(progress.bytes.addingClamped(Int64(count)), progress.bytesTotal)
      return (progress, !hasFailed)
    }

    mutating func finishFile(_ count: Int64) -> Progress {
      received = received.addingClamped(count)
      progress.files += 1
      return progress
    }
  }
}
