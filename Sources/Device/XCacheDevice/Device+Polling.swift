import Manifests
import System

/// The requests of a poll, and what is remembered of them.
extension Device {
  /// Polls, and fetches the documents that the answer names: they count whatever its manifest is, so that the kill switch
  /// always arrives.
  func poll(
    _ source: PollPolicy.Source, holding held: DeviceIndex, _ documents: Locked<FollowedDocuments>,
    signal: StopSignal? = nil
  ) throws(DeviceError) -> Poller.Offer {
    // Most of a manifest above the limit isn't wanted, but a pack brings every new file.
    let takesPacks = settings.diskLimit.map { held.blocks <= $0 } ?? true
    do throws(DeviceError) {
      let poller = poller(source, documents, holding: held, signal: signal)
      let known = known(of: held)
      let offer =
        signal == nil
        ? try poller.poll(source, holding: known, takesPacks: takesPacks)
        : try poller.pollDocuments(source, holding: known, takesPacks: takesPacks)
      // Here and not where requests are repeated: those are part of this poll.
      countPoll(of: known, offer.extras, from: source)
      policy.withLock { $0.recordRollback(offer.extras.rollback?.number, from: source) }
      // An origin whose packs can't be used, and which fails without them, must not keep devices from the mirror.
      if offer.pack == nil { recordPollSuccess(source, offer.extras) }
      finishTrust(offer, documents, from: source, holding: held, isJob: signal == nil)
      return offer
    } catch {
      recordPollFailure(error, source, holding: held)
      throw error
    }
  }

  /// Sends the same request without `pack=1`.
  func pollWithoutPack(
    _ source: PollPolicy.Source, holding held: DeviceIndex, _ documents: Locked<FollowedDocuments>
  ) throws(DeviceError) -> Poller.Offer {
    do throws(DeviceError) {
      let offer = try poller(source, documents, holding: held).poll(
        source, holding: known(of: held), takesPacks: false, mayAskForOther: false)
      guard offer.pack == nil else {
        throw DeviceError.unreadable(
          url: settings.server.text, reason: "it names a pack, and none was asked for")
      }
      recordPollSuccess(source, offer.extras)
      finishTrust(offer, documents, from: source, holding: held, isJob: true)
      return offer
    } catch {
      recordPollFailure(error, source, holding: held)
      throw error
    }
  }

  /// Requests the whole manifest where that of a pack failed the check (T-5).
  func pollForAll(
    _ source: PollPolicy.Source, of version: ManifestVersion, isCandidate: Bool, holding held: DeviceIndex,
    _ documents: Locked<FollowedDocuments>
  ) throws(DeviceError) -> Poller.Offer {
    do throws(DeviceError) {
      let poller = poller(source, documents, holding: held)
      let offer = try poller.pollForAll(source, of: version, isCandidate: isCandidate)
      finishTrust(offer, documents, from: source, holding: held, isJob: true)
      return offer
    } catch {
      recordPollFailure(error, source, holding: held)
      throw error
    }
  }

  /// What an update comes to while no poll is due; nil if one is.
  package func reportIfNotDue() -> UpdateReport? {
    var policy = policy.withLock { $0 }
    guard case .wait(let milliseconds) = policy.begin(at: now()) else { return nil }
    var report = UpdateReport(.notDue, from: version, to: version)
    report.wait = milliseconds
    return report
  }

  /// Whether a poll is due while an update is at its downloads.
  package var isPollDueDuringUpdate: Bool {
    isPastPoll.withLock { $0 } && !gate.conditions.isOffline && policy.withLock { $0.isDue(at: now()) }
  }

  /// Polls if a poll is due while an update is at its downloads, and fetches the documents that the answer names, so that the
  /// kill switch doesn't wait for a slow file. The manifest is left to the next update.
  /// - Throws: what counts as a failed poll.
  package func pollDuringUpdate(until signal: StopSignal) throws(DeviceError) {
    guard isPollDueDuringUpdate, !gate.isStopped(signal),
      case .poll(let source) = policy.withLock({ $0.begin(at: now()) })
    else { return }
    recordPollStart(source)
    defer { savePolicy() }
    _ = try poll(source, holding: index, Locked(FollowedDocuments()), signal: signal)
  }

  private func poller(
    _ source: PollPolicy.Source, _ documents: Locked<FollowedDocuments>, holding held: DeviceIndex,
    signal: StopSignal? = nil
  ) -> Poller {
    var settings = settings
    settings.holdsManifest = held.version > .none
    settings.skipped = trials.withLock { $0.skipped(holding: HeldManifest(held)) }
    var poller = Poller(transport: documentTransport(signal: signal), settings: settings)
    poller.folder = folder
    poller.keepsAnswers = signal == nil
    poller.choice = versionChoice(holding: held, isFollowed: signal == nil)
    if signal == nil { poller.gate = gate(source, documents, holding: held) }
    poller.onServerTime = { [self] time in recordServerTime(time, from: source) }
    poller.onDocuments = { [self, choice = versionChoice(holding: held, isFollowed: false)] extras in
      fetchNamedDocuments(extras, from: source, by: choice, documents, signal: signal)
    }
    return poller
  }

  /// What stands between the answers of a poll and the device; nil without a root.
  func gate(
    _ source: PollPolicy.Source, _ documents: Locked<FollowedDocuments>, holding held: DeviceIndex
  ) -> TrustGate? {
    trust.map {
      TrustGate(
        device: self, trust: $0, source: source, choice: versionChoice(holding: held, isFollowed: true),
        followed: documents)
    }
  }

  /// - Parameter signal: cancels a poll beside a job; nil for the job's own poll.
  func documentTransport(signal: StopSignal?) -> GatedTransport {
    var transport = transport(for: signal == nil ? .document : .concurrentDocument)
    if let signal { transport.signal = signal }
    return transport
  }

  /// Counts a poll that the origin doesn't see, since a shared cache answers in its place.
  /// - Parameter known: what the poll said that the device holds.
  private func countPoll(of known: DeviceIndex, _ extras: AnswerExtras, from source: PollPolicy.Source) {
    if source == .origin { hasEdge.withLock { $0 = extras.edge != nil } }
    guard source == .origin, extras.edge != nil, known.version > .none else { return }
    let version = known.version.text
    guard let body = countedPollHandler.withLock({ $0 }) else {
      return polls.withLock { $0.add(.polls, holding: version) }
    }
    body(version)
  }

  /// Sends the polls that were counted, if a batch is due and nobody else sends them.
  func sendPolls() {
    guard countedPollHandler.withLock({ $0 }) == nil, takesBatches else { return }
    let (version, now, countsPolls) = (version, Clock.continuousNanoseconds(), countsPolls)
    for batch in polls.withLock({ $0.take(at: now, holding: version, countsPolls: countsPolls) }) {
      send(batch)
    }
  }

  func recordPollSuccess(_ source: PollPolicy.Source, _ extras: AnswerExtras) {
    policy.withLock { $0.recordAnswer(from: source, interval: extras.interval) }
    // The static copy says nothing of samples, and nothing is sent while the device is on it. First, since the share lets them go.
    if source == .origin { reporter.setRefusesSamples(extras.samples == 0) }
    reporter.setShare(source == .origin ? extras.reports ?? AnswerExtras.allReports : nil)
  }

  private func recordPollFailure(
    _ error: DeviceError, _ source: PollPolicy.Source, holding held: DeviceIndex
  ) {
    if error.isStop { return }
    let chance = Double.random(in: 0...1)
    policy.withLock { $0.recordFailure(of: source, at: now(), chance: chance) }
    reporter.setShare(nil)
    reportManifest(error, from: source, holding: held)
  }

  /// Notes the time of a server's clock: from two answers the device may learn how far its own is off.
  private func recordServerTime(_ serverTime: Int64, from source: PollPolicy.Source) {
    let now = now()
    let (old, new) = clock.withLock { clock in
      let old = clock.saved(server: settings.server.text)
      clock.record(serverTime, from: source, at: now)
      return (old, clock.saved(server: settings.server.text))
    }
    guard old != new, cache.withLock({ $0.isOurs }) else { return }
    // If that fails, the next process learns it from its own polls.
    if let new { try? folder.write(new, to: folder.clock) } else { try? folder.remove(folder.clock) }
  }

  /// The time by which what a policy names ends, in milliseconds since 1970.
  var policyTime: Int64 { clock.withLock { $0.time(at: now()) } }

  /// Saves a poll that begins as one that has failed: a process that ends before the answer can't say so.
  func recordPollStart(_ source: PollPolicy.Source) {
    var failing = policy.withLock { $0 }
    failing.recordFailure(of: source, at: now(), chance: Double.random(in: 0...1))
    save(failing)
  }

  /// Saves when the device polled last, and how that went.
  func savePolicy() { save(policy.withLock { $0 }) }

  /// If it can't be written, the only cost is an earlier poll after the next start.
  private func save(_ policy: PollPolicy) {
    guard savedPolicy.withLock({ $0 != policy }), cache.withLock({ $0.isOurs }) else { return }
    do throws(DeviceError) {
      try folder.write(policy.saved(server: settings.server.text), to: folder.poll)
      savedPolicy.withLock { $0 = policy }
    } catch {
      savedPolicy.withLock { $0 = nil }
    }
  }
}
