import Manifests
import OriginAPI
import OriginClient
import System
import Trust

// The origin makes deltas while the publisher polls for their progress, so that no request hangs.
extension Publication {
  /// Prepares a release, and makes it. A release with a limit names the version that its cost refers to: if another release
  /// intervened, devices would download something else, so it is prepared again.
  ///
  /// `document` is the request as JSON.
  /// - Throws: `overBudget`, `costUnknown`, `alwaysOvertaken`.
  func releasePrepared(_ request: ReleaseRequest, _ document: [UInt8]) throws(PublishError) -> Released {
    // The channel's version when the release was planned.
    let newest = remote.overview?.version ?? .none
    var isOvertaken = false
    var statements: [Signed<ReleaseStatement>]?
    for _ in 0..<Self.attempts {
      let prepared = try prepare(document, isOvertaken: isOvertaken)
      var named = request.options
      if options.maxUpdate != nil {
        named.replaces = prepared.map { $0.answer.value.base } ?? newest
      }
      try compare(prepared?.contents)
      // A person may have to touch the key.
      let signed = if let statements { statements } else { try sign() }
      statements = signed
      if !signed.isEmpty { named.statements = signed.map(\.envelope.json) }
      // Origins of before these releases don't know the member.
      if !signed.isEmpty, signing?.lacking.isEmpty == false { named.awaitSignatures = true }
      do {
        let answer = try publisher.release(
          ReleaseRequest(changes: request.changes, options: named), plans, channel, plan: prepared?.plan,
          local.kept)
        return (answer, prepared?.answer, signed)
      } catch .origin(.refused(let problem)) where problem.code == "other-version" {
        isOvertaken = true
      }
    }
    throw .alwaysOvertaken
  }

  /// The answer to the release, its preparation, if there was one, and the statements that went along.
  typealias Released = (
    answer: OriginAnswer<ReleaseAnswer>, preparation: OriginAnswer<PreparationAnswer>?,
    statements: [Signed<ReleaseStatement>]
  )

  /// How often a release with a limit is prepared at most.
  private static let attempts = 5

  /// Makes the origin prepare a release's deltas, and waits for those from the version that it replaces, for as long as the
  /// origin wants releases to wait. Returns nil if nothing changes, or if the origin can't prepare releases.
  ///
  /// `isOvertaken` means that another release intervened, which this one may undo, whatever was planned.
  /// - Throws: `overBudget`, `costUnknown`.
  private func prepare(_ document: [UInt8], isOvertaken: Bool) throws(PublishError) -> Prepared? {
    // A release that only removes files is a small update; only a limit needs its cost, and a signature what it leads to.
    let needsAll = options.maxUpdate != nil || signing != nil
    let changes = plans.contains { needsAll ? !$0.isEmpty : !$0.put.isEmpty }
    guard changes || isOvertaken else { return nil }
    // An origin that was restarted has lost its preparations, so the release is prepared again.
    for _ in 0..<3 {
      do {
        return try prepareOnce(document)
      } catch .origin(.refused(let problem)) where problem.code == "unknown-preparation" {
        continue
      }
    }
    return try prepareOnce(document)
  }

  /// The result of a preparation.
  struct Prepared {
    let answer: OriginAnswer<PreparationAnswer>
    /// Refers the release to the prepared request; nil means that the request is sent again.
    let plan: SHA256?
    /// What the origin would make of the bundles that change; nil if nothing is signed.
    let contents: [PlannedContent]?
  }

  private func prepareOnce(_ document: [UInt8]) throws(PublishError) -> Prepared? {
    var answer: OriginAnswer<PreparationAnswer>
    do {
      answer = try PublishError.asking { () throws(OriginError) in try api.prepare(document, in: channel) }
    } catch .origin(.refused(let problem)) where problem.status == 404 && options.maxUpdate == nil {
      // Older origins have no preparations; if the app doesn't exist, the release reports that.
      return nil
    }
    let (plan, contents) = (answer.value.plan, answer.value.contents)
    if let limit = options.maxUpdate {
      // Even if it takes long: a limit must be kept. The origin completes every preparation.
      answer = try wait(for: answer) { $0.done || !isDryRun && $0.cost.last1 != nil }
      try checkCost(answer.value.cost, limit)
    } else if options.release.now != true {
      answer = try wait(for: answer) { $0.late || (isDryRun ? $0.done : $0.ready) }
    }
    return Prepared(answer: answer, plan: plan, contents: contents)
  }

  /// Checks the cost of an update against a limit.
  /// - Throws: `overBudget`, `costUnknown`.
  private func checkCost(_ cost: PreparationAnswer.Costs, _ limit: Int64) throws(PublishError) {
    // There is no device yet that could exceed the limit.
    if cost.isFirst { return }
    guard let bytes = cost.last1?.wireBytes else { throw .costUnknown }
    if bytes > limit { throw .overBudget(bytes: bytes, limit: limit) }
  }

  /// Returns the preparation with its final costs, which are completed after the release is visible: a dry run waits for all of
  /// them, a release only for a moment.
  func finalCosts(_ preparation: OriginAnswer<PreparationAnswer>?) throws(PublishError)
    -> OriginAnswer<PreparationAnswer>?
  {
    guard let preparation else { return nil }
    let end = Clock.monotonicNanoseconds() + Self.moment
    // The known state is from before the release; it may be complete by now.
    return try wait(for: preparation, pause: 0, longest: isDryRun ? 500 : 50) {
      if $0.done { return true }
      if isDryRun { return $0.late }
      return $0.late && options.release.now != true || Clock.monotonicNanoseconds() > end
    }
  }

  /// How long a release that is live waits for its cost, in nanoseconds.
  private static let moment: UInt64 = 300_000_000

  /// Polls a preparation until it has got far enough; `pause` is the time before the first request, and `longest` that between two,
  /// in milliseconds.
  private func wait(
    for answer: OriginAnswer<PreparationAnswer>, pause: UInt32 = 20,
    longest: UInt32 = 500, until isFarEnough: (PreparationAnswer) -> Bool
  ) throws(PublishError) -> OriginAnswer<PreparationAnswer> {
    var answer = answer
    var pause = pause
    while !isFarEnough(answer.value) {
      publisher.progress(.preparing(done: answer.value.filesDone, of: answer.value.files))
      Clock.sleep(for: .milliseconds(pause))
      pause = min(max(20, pause * 3 / 2), longest)
      answer = try PublishError.asking { [id = answer.value.id] () throws(OriginError) in
        try api.preparation(id, in: channel)
      }
    }
    return answer
  }
}

extension Publisher {
  /// How long all that is left may fail, in nanoseconds: the origin tries again after 2, 4 and 8 seconds.
  private static let patience: UInt64 = 16_000_000_000

  /// Waits until the origin has made all deltas from older versions.
  /// - Throws: `deltasLeft` if all that are left keep failing, since the origin tries them again for as long as it takes.
  package func waitForDeltas(_ channel: ChannelAddress) throws(PublishError) {
    var lastProgress = Clock.monotonicNanoseconds()
    while true {
      let deltas = try PublishError.asking { () throws(OriginError) in
        try api.overview(of: channel).value.deltas
      }
      guard let deltas, deltas.pending != 0 else { return }
      if !deltas.isStuck { lastProgress = Clock.monotonicNanoseconds() }
      if Clock.monotonicNanoseconds() - lastProgress > Self.patience {
        throw .deltasLeft(deltas.pending ?? 1, reason: deltas.fault)
      }
      progress(.waitingForDeltas(left: deltas.pending ?? 1))
      Clock.sleep(for: .milliseconds(200))
    }
  }
}
