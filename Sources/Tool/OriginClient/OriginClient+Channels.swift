import Manifests
import OriginAPI
import Values

extension OriginClient {
  package func overview(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<ChannelOverview> {
    try get(channel.path)
  }

  /// Whether a channel exists.
  package func exists(_ channel: ChannelAddress) throws(OriginError) -> Bool {
    do {
      _ = try overview(of: channel)
      return true
    } catch {
      guard error.problem?.status == 404 else { throw error }
      return false
    }
  }

  package func channels() throws(OriginError) -> OriginAnswer<ChannelList> { try get("apps") }

  package func create(_ channel: ChannelAddress, _ request: ChannelRequest) throws(OriginError)
    -> OriginAnswer<ChannelSummary>
  {
    try send(OriginCall("POST", "\(channel.path)/create", request))
  }

  package func remove(_ channel: ChannelAddress) throws(OriginError) -> OriginAnswer<ChannelRemovalAnswer> {
    try send(OriginCall("POST", "\(channel.path)/remove", EmptyRequest()))
  }

  package func freeze(_ channel: ChannelAddress, _ request: FreezeRequest) throws(OriginError)
    -> OriginAnswer<FreezeAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/freeze", request))
  }

  package func thaw(_ channel: ChannelAddress, _ request: ThawRequest = ThawRequest()) throws(OriginError)
    -> OriginAnswer<ThawAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/thaw", request))
  }

  package func nameDefaultApp(_ request: DefaultAppRequest) throws(OriginError)
    -> OriginAnswer<DefaultAppAnswer>
  {
    try send(OriginCall("POST", "default-app", request))
  }

  /// The maximum size, in bytes, of an answer that grows with the manifest.
  private static let manifestLimit = 1 << 30

  /// Returns up to `limit` releases, newest first: only those below `before`, and only those made by `time`, if given.
  package func log(
    of channel: ChannelAddress, limit: Int, before: ManifestVersion? = nil, at time: String? = nil
  ) throws(OriginError) -> OriginAnswer<ReleaseLog> {
    let query =
      (before.map { "&before=\($0)" } ?? "") + (time.map { "&at=\(OriginCall.escaped($0))" } ?? "")
    return try get("\(channel.path)/log?limit=\(limit)\(query)")
  }

  /// Returns a release. Here and below, `version` is a number or a time at which the version was live.
  package func release(_ version: String, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ReleaseInfo>
  {
    try get("\(channel.path)/releases/\(OriginCall.escaped(version))")
  }

  /// - Parameter limit: the most files to list; nil for all.
  package func diff(
    from older: String, to newer: String, of channel: ChannelAddress, limit: Int? = nil
  ) throws(OriginError) -> OriginAnswer<DiffAnswer> {
    let query =
      "from=\(OriginCall.escaped(older))&to=\(OriginCall.escaped(newer))"
      + (limit.map { "&limit=\($0)" } ?? "")
    var call = OriginCall("GET", "\(channel.path)/diff?\(query)")
    call.limit = Self.manifestLimit
    return try send(call)
  }

  /// Returns the canonical resourcemap of a version; nil means the newest.
  package func manifest(_ version: String? = nil, of channel: ChannelAddress) throws(OriginError) -> JSONValue
  {
    let query = version.map { "?version=\(OriginCall.escaped($0))" } ?? ""
    var call = OriginCall("GET", "\(channel.path)/manifest\(query)")
    call.limit = Self.manifestLimit
    return try send(call)
  }

  package func entries(of bundle: BundleName, in channel: ChannelAddress, since: ManifestVersion? = nil)
    throws(OriginError) -> BundleEntries
  {
    let query = since.map { "?since=\($0)" } ?? ""
    var call = OriginCall("GET", "\(channel.path)/bundles/\(bundle)/entries\(query)")
    call.limit = Self.manifestLimit
    return try send(call, as: BundleEntries.self).value
  }

  /// Moves a channel to another public URL.
  package func rebase(_ request: RebaseRequest, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<RebaseAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/rebase", request)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }

  /// Returns the rollouts of a channel.
  package func rollouts(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<RolloutList> {
    try get("\(channel.path)/rollout")
  }

  /// Changes the open rollout of a channel; `verb` is `set`, `pause`, `resume` or `complete`.
  package func rollout(_ verb: String, _ request: RolloutRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<RolloutAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/rollout/\(verb)", request))
  }

  /// Halts the open rollout of a channel.
  package func haltRollout(_ request: RolloutHaltRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ReleaseAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/rollout/halt", request)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }

  /// Schedules the halt of the open rollout of a channel.
  package func scheduleHalt(_ request: RolloutHaltRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<RolloutAnswer>
  {
    try send(OriginCall("POST", "\(channel.path)/rollout/halt", request))
  }

  /// Returns the scheduled acts of a channel.
  package func schedules(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<ScheduleList> {
    try get("\(channel.path)/schedules")
  }

  /// Returns one scheduled act of a channel.
  package func schedule(_ id: Int64, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ScheduledInfo>
  {
    try get("\(channel.path)/schedules/\(id)")
  }

  /// Returns the request of a scheduled act that waits: what is carried out.
  package func scheduledRequest(_ id: Int64, of channel: ChannelAddress) throws(OriginError) -> JSONValue {
    var call = OriginCall("GET", "\(channel.path)/schedules/\(id)/request")
    call.limit = Self.manifestLimit
    return try send(call)
  }

  /// Adds signatures to a release that waits for them.
  package func sign(_ id: Int64, with request: ScheduleStatementsRequest, in channel: ChannelAddress)
    throws(OriginError) -> OriginAnswer<ScheduledInfo>
  {
    try send(OriginCall("POST", "\(channel.path)/schedules/\(id)/statements", request))
  }

  /// Cancels a scheduled act that waits.
  package func cancelSchedule(_ id: Int64, of channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<ScheduledInfo>
  {
    try send(OriginCall("DELETE", "\(channel.path)/schedules/\(id)"))
  }
}
