import HTTP
import OriginAPI
import Store
import System
import Values

/// `POST /gc`, and `/apps/{app}/channels/{channel}/pins…` and `…/adoption`.
struct MaintenanceHandler: APIHandler {
  let context: RequestContext

  // MARK: - Collecting

  /// `POST /gc`
  func collect(_ body: GCRequest) throws -> Response {
    var policy = RetentionPolicy()
    policy.versions = try Self.within(1...1_000_000, body.keepVersions, "keepVersions") ?? policy.versions
    policy.days = try Self.within(0...90, body.keepDays, "keepDays") ?? policy.days
    let isDryRun = body.dryRun ?? false
    // The latest counts keep versions, too.
    context.api.adoption.flush()
    return try context.answering {
      APIAnswer(GCReport($0, dryRun: isDryRun))
    } to: { [policy] (record) in
      // Its thread ends with it; a worker's would keep the low priority.
      try ThreadTask("gc", priority: .background) {
        [store, actor = actor, answers = context.api.releases.builder] () in
        if isDryRun { return try store.collect(policy, dryRun: true, by: actor, record: record) }
        return try answers.collectGarbage(store) { () throws(StoreError) in
          try store.collect(policy, by: actor, record: record)
        }
      }.value()
    }
  }

  private static func within(_ range: ClosedRange<Int>, _ number: Int?, _ member: String) throws -> Int? {
    guard number.map(range.contains) ?? true else {
      throw Problem.badRequest(
        "\"\(member)\" must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  // MARK: - Pins

  /// `GET …/pins`
  func pins() throws -> Response {
    .json(PinList(pins: try store.pins(of: context.channel())))
  }

  /// `POST …/pins`
  func pin(_ body: PinRequest) throws -> Response {
    guard let name = try VersionName.read(body.version, member: "version") else {
      throw Problem.badRequest("\"version\" must be the version to pin, as a string")
    }
    guard let reason = try HumanText.checked(body.reason, member: "reason", .line(bytes: 1024)),
      !reason.isEmpty
    else {
      throw Problem.badRequest("\"reason\" is required, in 1 to 1024 bytes")
    }
    let channel = try context.channel()
    return try context.answering {
      APIAnswer($0, .created)
    } to: { (record) in
      try store.pin(
        store.version(name, of: channel), of: channel, reason: reason, by: actor, record: record)
    }
  }

  /// `DELETE …/pins/{version}`
  func unpin() throws -> Response {
    let name = try VersionName.read(request.path[5], in: "")
    let channel = try context.channel()
    let version = try store.version(name, of: channel)
    return try context.answering {
      APIAnswer(UnpinAnswer(version: version))
    } to: { (record: AnswerRecord<Void>?) in
      try store.unpin(version, of: channel, by: actor, record: record)
    }
  }

  // MARK: - What devices run

  /// How many versions' report counts are returned.
  private static let versionsOfReports = 20

  /// `GET …/adoption`
  func adoption() throws -> Response {
    // What was counted since the last time is written, as for the series and the samples, which stand beside it.
    context.api.adoption.flush()
    let channel = try context.channel()
    func polls(hours: Int) throws -> AdoptionAnswer.Polls {
      let adoption = try store.adoption(of: channel, hours: hours)
      return .init(
        polls: Int64(adoption.polls),
        versions: adoption.shares.map {
          .init(polls: Int64($0.polls), version: AdoptionService.name($0.version))
        }, sample: .init(adoption.sample, of: adoption.polls))
    }
    let failures = try store.failures(of: channel, days: 7).prefix(500).map {
      AdoptionAnswer.Failure(
        failures: Int64($0.failures), reason: $0.reason.rawValue, url: $0.url,
        version: AdoptionService.name($0.version))
    }
    // Polls are counted by clock hour: the last hour is the current one and the one before.
    return .json(
      AdoptionAnswer(
        hour: try polls(hours: 2), day: try polls(hours: 24), week: try polls(hours: 7 * 24),
        failures: failures,
        reports: try store.reported(of: channel, limit: Self.versionsOfReports).map { report in
          AdoptionAnswer.Report(
            version: report.version.text,
            counts: Dictionary(uniqueKeysWithValues: report.counts.all.map { ($0.count.name, $0.times) }))
        }))
  }
}

extension AdoptionAnswer.Sample {
  /// What a number of polls was worked out from; nil if they were counted themselves.
  init?(_ sample: PollSample, of polls: Int) {
    guard let margin = sample.margin(of: polls) else { return nil }
    self.init(batches: Int64(sample.batches), margin: Int64(margin))
  }
}

extension GCReport {
  /// A garbage collection as reported by the API and `xcache gc --json`.
  package init(_ report: CollectionReport, dryRun: Bool) {
    self.init(
      dryRun: dryRun, channels: report.channels.map(Channel.init), freedBytes: report.freedBytes,
      blobs: report.blobs, orphans: report.orphans, derived: report.derived,
      temporary: report.temporary, documents: report.documents > 0 ? report.documents : nil,
      scripts: report.scripts.count > 0 ? report.scripts : nil, entries: report.entries,
      resources: report.resources,
      urls: report.urls, promised: report.promised, stoppedFor: report.stoppedFor,
      longestWriteMilliseconds: (report.longestWrite + 999_999) / 1_000_000)
  }
}

extension GCReport.Channel {
  fileprivate init(_ channel: CollectionReport.Channel) {
    self.init(
      app: channel.app, channel: channel.name, dropped: channel.dropped,
      kept: channel.kept.map { .init(version: $0.version, reasons: $0.reasons.map(GCReport.Reason.init)) })
  }
}

extension GCReport.Reason {
  fileprivate init(_ reason: RetentionReason) {
    switch reason {
    case .live: self.init("live")
    case .recent: self.init("recent")
    case .reported(let polls, let hours, let last):
      self.init("reported", polls: Int64(polls), hours: hours, last: Moment(milliseconds: last))
    case .pinned(let author, let reason): self.init("pinned", author: author, reason: reason)
    case .scheduled(let id): self.init("scheduled", reason: "the scheduled act \(id)")
    case .mirrored(let name): self.init("mirrored", mirror: name)
    case .lastNumber: self.init("lastNumber")
    }
  }
}
