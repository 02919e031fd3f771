import Manifests
import OriginAPI
import System

// Deltas are made while the release is planned; the publisher asks how far they are, so that no request hangs.
extension Publisher {
  /// Has the origin make the deltas of a release, and waits for those on the version that it replaces, as long as the
  /// origin wants releases to wait. nil: nothing changes, or the origin can't.
  /// - Throws: `overBudget`.
  func prepare(
    _ request: ReleaseRequest, _ plans: [Plan], _ channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer>? {
    guard plans.contains(where: { !$0.put.isEmpty }) else { return nil }
    // An origin that was started anew knows no preparation; it is told again.
    for _ in 0..<3 {
      do {
        return try prepareOnce(request, channel, options)
      } catch .origin(.refused(let problem)) where problem.code == "unknown-preparation" {
        continue
      }
    }
    return try prepareOnce(request, channel, options)
  }

  private func prepareOnce(
    _ request: ReleaseRequest, _ channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer>? {
    var answer: OriginAnswer<PreparationAnswer>
    do {
      answer = try PublishError.asking { () throws(OriginError) in try api.prepare(request, in: channel) }
    } catch .origin(.refused(let problem)) where problem.status == 404 && options.maxUpdate == nil {
      // An older origin has no preparations; an app that isn't there is the release's to report.
      return nil
    }
    if options.release.now != true || options.maxUpdate != nil {
      let isDryRun = options.release.dryRun == true
      answer = try wait(answer, channel) { isDryRun ? $0.done : $0.ready }
    }
    let cost = answer.value.cost
    if let limit = options.maxUpdate, let bytes = (cost.last1 ?? cost.new)?.total, bytes > limit {
      throw .overBudget(bytes: bytes, limit: limit)
    }
    return answer
  }

  /// The preparation with all its costs, which are worked out to the end after the release is visible.
  func finish(_ preparation: OriginAnswer<PreparationAnswer>?, _ channel: ChannelAddress, waits: Bool)
    throws(PublishError) -> OriginAnswer<PreparationAnswer>?
  {
    guard let preparation, waits else { return preparation }
    return try wait(preparation, channel) { $0.done }
  }

  /// Asks again until a preparation is as far as wanted, or late.
  private func wait(
    _ answer: OriginAnswer<PreparationAnswer>, _ channel: ChannelAddress,
    until isFarEnough: (PreparationAnswer) -> Bool
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer> {
    var answer = answer
    var pause: UInt32 = 50
    while !isFarEnough(answer.value), !answer.value.late {
      progress(.preparing(done: answer.value.filesDone, of: answer.value.files))
      Clock.sleep(for: .milliseconds(pause))
      pause = min(pause * 3 / 2, 500)
      answer = try PublishError.asking { [id = answer.value.id] () throws(OriginError) in
        try api.preparation(id, in: channel)
      }
    }
    return answer
  }

  /// Returns when no older version is left from which deltas are to be made.
  package func waitForDeltas(_ channel: ChannelAddress) throws(PublishError) {
    while true {
      let deltas = try PublishError.asking { () throws(OriginError) in
        try api.overview(of: channel).value.deltas
      }
      guard let deltas, deltas.pending != 0 else { return }
      progress(.waitingForDeltas(left: deltas.pending ?? 1))
      Clock.sleep(for: .milliseconds(200))
    }
  }
}
