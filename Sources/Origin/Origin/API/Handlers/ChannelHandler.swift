import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Channels: listing them, their current content, and admins' acts on them.
struct ChannelHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  /// `GET /apps`: every channel that the token may read.
  func list() throws -> Response {
    let states = try store.channelStates()
    let allowed = states.filter { caller.allows(.read, app: $0.channel.app, channel: $0.channel.name) }
    let app = try store.defaultApp()
    // Which other apps exist is not for every token to know.
    let showsDefault =
      app.map { app in caller.isUnlimited || allowed.contains { $0.channel.app == app } } ?? false
    return .json(
      ChannelList(
        channels: allowed.map { ChannelSummary($0.channel, $0.freeze, $0.planned) },
        defaultApp: showsDefault ? app : nil))
  }

  /// `POST /default-app`: the app that answers polls that name none (docs/protocol.md §2), for unrestricted admins.
  func nameDefaultApp(_ body: DefaultAppRequest) throws -> Response {
    guard let name = body.app else {
      throw Problem.badRequest("\"app\" must be the default app's name")
    }
    let app = try AppName(name)
    return try context.answering { before in
      APIAnswer(DefaultAppAnswer(defaultApp: app, was: before))
    } to: { record in
      try releases.setDefault(app, by: actor, record: record)
    }
  }

  /// `GET /apps/{app}/channels/{channel}`
  func overview() throws -> Response {
    let channel = try context.channel()
    let damaged = try store.damagedBlobs()
    let places = try store.damagedURLs(of: damaged)
      .filter { $0.app == channel.app.text && $0.channel == channel.name.text }
    let scrub = try store.scrubState()
    let extras = try store.extras(of: channel)
    var overview =
      ChannelOverview(
        ChannelSummary(channel, try store.freeze(of: channel), try store.plannedFreezes(of: channel)),
        digest: channel.full.digest,
        bundles: try store.fullBundles(of: channel).map {
          .init(name: $0.name, version: $0.version, resources: $0.resources, bytes: $0.bytes)
        }, isDefaultApp: try store.defaultApp() == channel.app, origin: try store.originID(),
        damaged: damaged,
        damagedURLs: places.map { .init(bundle: $0.bundle, sha256: $0.sha256, url: $0.url) },
        scrub: .init(
          files: Int64(scrub.files), bytes: scrub.bytes,
          oldest: scrub.oldest.map { Moment(milliseconds: $0) }),
        deltas: context.api.deltas.backlog.progress(of: channel.id),
        interval: extras.interval, reports: extras.reports, rollback: channel.full.rollback,
        policy: extras.policy.map { DocumentAnswer(.policy, $0) },
        prefetch: extras.prefetch.map { DocumentVersion($0) }, isDiskFull: store.reserve.isDiskFull,
        staged: releases.staged.all.filter { $0.scope.app == channel.app && $0.scope.channel == channel.name }
          .map { .init($0) }, rollout: channel.rollout.map { RolloutInfo($0) })
    if !extras.takesSamples { overview.samples = false }
    overview.scheduled = try scheduled(channel)
    overview.halted = try halted(channel)
    overview.protection = try store.protection(of: channel).map { ChannelProtection($0) }
    overview.edge = context.api.fleet.edge?.bound
    overview.edges = context.api.fleet.edge?.states(
      of: channel.app, channel.name, showsFaults: caller.isUnlimited)
    if extras.root != nil, let root = try store.trust(of: channel.app)?.inForce, !root.isOff {
      overview.root = root.number.number
      overview.headProblem = try store.headProblem(of: channel)?.rawValue
    }
    return .json(overview)
  }

  /// The newest rollout, if it has halted itself in the last week.
  private func halted(_ channel: ChannelInfo) throws -> RolloutInfo? {
    guard channel.rollout == nil, let last = try store.rollouts(of: channel, limit: 1).first,
      last.state == .halted, last.changedBy == RolloutWatch.actor.name,
      store.now - last.changedAt < ScheduleLimits.reportedFor
    else { return nil }
    return RolloutInfo(last)
  }

  /// The scheduled acts that wait, and those that failed or were missed in the last week; nil if there are none.
  private func scheduled(_ channel: ChannelInfo) throws -> [ScheduledInfo]? {
    let acts = try store.scheduledActs(of: channel).filter { act in
      switch act.state {
      case .waiting: true
      case .failed, .missed: act.end.map { store.now - $0.at < ScheduleLimits.reportedFor } ?? false
      case .done, .cancelled: false
      }
    }
    return acts.isEmpty ? nil : acts.map { context.info($0) }
  }

  // MARK: - Acts: `POST /apps/{app}/channels/{channel}/create | remove | freeze | thaw`

  /// `POST …/rebase`
  func rebase(_ body: RebaseRequest) throws -> Response {
    let names = try context.names
    guard let text = body.publicURL else { throw Problem.badRequest("\"publicURL\" is required") }
    let url: BaseURL
    do {
      url = try BaseURL(text)
    } catch {
      throw Problem.badRequest("\"publicURL\": \(error)")
    }
    var input = RebaseInput(app: names.app, channel: names.channel, publicURL: url, by: actor)
    input.message = try HumanText.checked(body.message, member: "message", .message) ?? ""
    input.breakGlass = try ReleaseHandler.breakGlass(body.breakGlass)
    input.dryRun = body.dryRun ?? false
    let (was, isDryRun) = (try context.channel().publicURL, input.dryRun)
    return try context.answering { outcome in
      let patch = JSONValue.object(
        JSONObject(outcome.changes.map { .init(key: $0.url.text, value: $0.patch) })
      ).canonical
      let details = RebaseDetails(
        publicURL: url, was: was, patchBytes: Int64(patch.count),
        patchGzipBytes: Int64(outcome.changes.isEmpty ? 0 : Gzip.encode([patch]).count))
      return APIAnswer(
        RebaseAnswer(ReleaseAnswer(outcome, deltasStored: true), details), madeBy: outcome, dryRun: isDryRun)
    } to: { [input] (record) in
      try context.api.releases.rebase(input, by: caller, record: record)
    }
  }

  func create(_ body: ChannelRequest) throws -> Response {
    let names = try context.names
    let publicURL: BaseURL?
    do {
      publicURL = try body.publicURL.map { try BaseURL($0) }
    } catch {
      throw Problem.badRequest("\"publicURL\": \(error)")
    }
    return try context.answering {
      APIAnswer(ChannelSummary($0), .created)
    } to: { record in
      try releases.create(names.app, names.channel, publicURL: publicURL, by: actor, record: record)
    }
  }

  func remove(_: EmptyRequest) throws -> Response {
    let names = try context.names
    // No other app takes its place automatically: devices that name no app belong to this one.
    let (app, channels) = (try store.defaultApp(), try store.channels())
    let leavesNone = app == names.app && !channels.contains { $0.app == app && $0.name != names.channel }
    return try context.answering {
      APIAnswer(ChannelRemovalAnswer(ChannelSummary($0), leavesNoDefault: leavesNone))
    } to: { record in
      try releases.remove(names.app, names.channel, by: actor, record: record)
    }
  }

  func freeze(_ body: FreezeRequest) throws -> Response {
    let names = try context.names
    guard let reason = try HumanText.checked(body.reason, member: "reason", .message), !reason.isEmpty else {
      throw Problem.badRequest("\"reason\" is required: why the channel is frozen")
    }
    var plan: FreezePlan?
    if body.from != nil || body.to != nil {
      plan = FreezePlan(
        from: try context.ahead(body.from, member: "from")?.milliseconds,
        to: try context.ahead(body.to, member: "to")?.milliseconds)
    }
    return try context.answering {
      APIAnswer(FreezeAnswer(freeze: $0.freeze, replaced: $0.replaced))
    } to: { record in
      try store.freezeChannel(
        names.app, names.channel, reason: reason, plan: plan, by: actor, record: record)
    }
  }

  func thaw(_ body: ThawRequest) throws -> Response {
    let names = try context.names
    let scope = body.planned.map { ThawScope.planned($0) } ?? .current
    return try context.answering {
      APIAnswer(ThawAnswer(lifted: $0))
    } to: { record in
      try store.thawChannel(names.app, names.channel, scope, by: actor, record: record)
    }
  }
}

extension ChannelSummary {
  fileprivate init(
    _ newest: ChannelInfo, _ freeze: ChannelFreeze? = nil, _ planned: [ChannelFreeze] = []
  ) {
    // What all devices follow.
    let channel = newest.full
    self.init(
      app: channel.app, channel: channel.name, version: channel.version,
      at: channel.at.map { Moment(milliseconds: $0) }, resources: channel.resources, bytes: channel.bytes,
      publicURL: channel.publicURL, freeze: freeze, hosts: channel.hosts?.names)
    plannedFreezes = planned.isEmpty ? nil : planned
  }
}

extension ChannelOverview.StagedRelease {
  fileprivate init(_ item: StagedReleases.Item) {
    self.init(
      author: item.author, at: Moment(milliseconds: item.since),
      bundles: item.scope.bundles.map { $0.map(\.text).sorted() }, attempts: item.attempts,
      reason: item.reason)
  }
}
