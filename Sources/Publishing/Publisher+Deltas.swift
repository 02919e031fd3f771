import Manifests
import OriginAPI
import System

// Deltas are made while the release is planned; the publisher asks how far they are, so that no request hangs.
extension Publisher {
  /// Prepares a release, and makes it. One that has a limit names the version that its cost is about: where another release
  /// came between, devices would pay for something else, so that it is prepared again.
  /// - Parameters:
  ///   - document: the request as JSON.
  ///   - newest: of the channel, when the release was planned.
  /// - Throws: `overBudget`, `costUnknown`, `alwaysOvertaken`.
  func releasePrepared(
    _ request: ReleaseRequest, _ document: [UInt8], _ plans: [Plan], _ channel: ChannelAddress,
    _ options: PublishOptions,
    newest: ManifestVersion, _ kept: RetainedBytes
  ) throws(PublishError) -> (OriginAnswer<ReleaseAnswer>, OriginAnswer<PreparationAnswer>?) {
    var isOvertaken = false
    for _ in 0..<Self.attempts {
      let prepared = try prepare(document, plans, channel, options, isOvertaken: isOvertaken)
      var named = request.options
      if options.maxUpdate != nil {
        named.replaces = prepared.map { $0.answer.value.base } ?? newest
      }
      do {
        let answer = try release(
          ReleaseRequest(changes: request.changes, options: named), plans, channel, plan: prepared?.plan, kept
        )
        return (answer, prepared?.answer)
      } catch .origin(.refused(let problem)) where problem.code == "other-version" {
        isOvertaken = true
      }
    }
    throw .alwaysOvertaken
  }

  /// How often a release with a limit is prepared.
  private static let attempts = 5

  /// Has the origin make the deltas of a release, and waits for those on the version that it replaces, as long as the
  /// origin wants releases to wait. nil: nothing changes, or the origin can't.
  /// - Parameter isOvertaken: another release came between; this one may undo it, whatever was planned.
  /// - Throws: `overBudget`, `costUnknown`.
  private func prepare(
    _ request: [UInt8], _ plans: [Plan], _ channel: ChannelAddress, _ options: PublishOptions,
    isOvertaken: Bool
  ) throws(PublishError) -> Prepared? {
    // What takes files away alone is a small answer, which only a limit needs to know of.
    let changes = plans.contains { options.maxUpdate == nil ? !$0.put.isEmpty : !$0.isEmpty }
    guard changes || isOvertaken else { return nil }
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

  /// What came of a preparation.
  struct Prepared {
    let answer: OriginAnswer<PreparationAnswer>
    /// By what the release names what the preparation was given; nil: it is sent again.
    let plan: SHA256?
  }

  private func prepareOnce(
    _ request: [UInt8], _ channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) -> Prepared? {
    var answer: OriginAnswer<PreparationAnswer>
    do {
      answer = try PublishError.asking { () throws(OriginError) in try api.prepare(request, in: channel) }
    } catch .origin(.refused(let problem)) where problem.status == 404 && options.maxUpdate == nil {
      // An older origin has no preparations; an app that isn't there is the release's to report.
      return nil
    }
    let plan = answer.value.plan
    let isDryRun = options.release.dryRun == true
    if let limit = options.maxUpdate {
      // However late it is: who sets a limit wants it kept. The origin comes to an end with every preparation.
      answer = try wait(answer, channel) { $0.done || !isDryRun && $0.cost.last1 != nil }
      try check(answer.value.cost, limit)
    } else if options.release.now != true {
      answer = try wait(answer, channel) { $0.late || (isDryRun ? $0.done : $0.ready) }
    }
    return Prepared(answer: answer, plan: plan)
  }

  /// - Throws: `overBudget`, `costUnknown`.
  private func check(_ cost: PreparationAnswer.Costs, _ limit: Int64) throws(PublishError) {
    // There is no device that could download more than it may.
    if cost.isFirst { return }
    guard let bytes = cost.last1?.wireBytes else { throw .costUnknown }
    if bytes > limit { throw .overBudget(bytes: bytes, limit: limit) }
  }

  /// The preparation with its costs, which are worked out to the end after the release is visible: a dry run waits for all of
  /// them, a release no more than a moment.
  func finish(
    _ preparation: OriginAnswer<PreparationAnswer>?, _ channel: ChannelAddress, _ options: ReleaseOptions
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer>? {
    guard let preparation else { return nil }
    let end = Clock.monotonicNanoseconds() + Self.moment
    // What was known of it is from before the release: it may have come to its end since.
    return try wait(preparation, channel, pause: 0) {
      if $0.done { return true }
      if options.dryRun == true { return $0.late }
      return $0.late && options.now != true || Clock.monotonicNanoseconds() > end
    }
  }

  /// Nanoseconds.
  private static let moment: UInt64 = 2_000_000_000

  /// Asks again until a preparation is as far as wanted.
  /// - Parameter pause: milliseconds until it is asked for first.
  private func wait(
    _ answer: OriginAnswer<PreparationAnswer>, _ channel: ChannelAddress, pause: UInt32 = 20,
    until isFarEnough: (PreparationAnswer) -> Bool
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer> {
    var answer = answer
    var pause = pause
    while !isFarEnough(answer.value) {
      progress(.preparing(done: answer.value.filesDone, of: answer.value.files))
      Clock.sleep(for: .milliseconds(pause))
      pause = min(max(20, pause * 3 / 2), 500)
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
