import Manifests
import OriginAPI

extension OriginClient {
  /// Returns which versions a channel's devices run, and their failures.
  package func adoption(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<AdoptionAnswer> {
    try get("\(channel.path)/adoption")
  }

  /// Returns what happened when pages failed; of the newest version and the candidate if no version is given.
  package func samples(
    of channel: ChannelAddress, version: String? = nil, page: String? = nil, limit: Int
  ) throws(OriginError) -> OriginAnswer<SampleList> {
    let version = version.map { "&version=\(OriginCall.escaped($0))" } ?? ""
    let page = page.map { "&page=\(OriginCall.escaped($0))" } ?? ""
    return try get("\(channel.path)/samples?limit=\(limit)\(version)\(page)")
  }

  /// Returns `points` points, the last one being now. `step` is `minute` (of the last hour), `hour`, `day` or `week`.
  package func series(of channel: ChannelAddress, step: String, points: Int) throws(OriginError)
    -> OriginAnswer<AdoptionSeries>
  {
    try get("\(channel.path)/adoption/series?step=\(step)&points=\(points)")
  }

  /// Returns the newest `limit` rows of the trail; if `before` is given, only rows below it.
  package func audit(limit: Int, before: Int? = nil) throws(OriginError) -> OriginAnswer<AuditRows> {
    try get("audit?limit=\(limit)\(before.map { "&before=\($0)" } ?? "")")
  }

  /// Returns the next part of the whole trail, which starts above the row `after`.
  package func auditExport(after: Int64) throws(OriginError) -> AuditRows {
    var call = OriginCall("GET", "audit/export?after=\(after)")
    call.limit = 256 << 20
    return try send(call).value
  }

  /// Runs a garbage collection and waits up to an hour for it to end: a retry would only report on a second round.
  package func collect(_ request: GCRequest) throws(OriginError) -> OriginAnswer<GCReport> {
    var call = OriginCall("POST", "gc", request)
    call.timeouts.stallSeconds = 3600
    return try send(call)
  }

  /// Returns all channels that the token may read.
  package func fleet() throws(OriginError) -> OriginAnswer<FleetOverview> { try get("overview") }

  /// Returns the state of the disk now and over the last `hours` hours, 2160 at most.
  package func disk(hours: Int) throws(OriginError) -> OriginAnswer<DiskAnswer> {
    try get("disk?hours=\(hours)")
  }

  /// Returns what to mirror. `channels` is `*` for all, a channel's name, or empty; `keep` is how many versions before the
  /// newest a mirror keeps.
  package func mirrorOverview(channels: String, keep: Int) throws(OriginError) -> MirrorOverview {
    var call = OriginCall("GET", "mirror?channels=\(channels)&keep=\(keep)")
    call.limit = 1 << 30
    return try send(call).value
  }

  /// Returns the registered mirrors.
  package func mirrors() throws(OriginError) -> OriginAnswer<MirrorList> { try get("mirrors") }

  /// Registers what a mirror names, so that gc keeps it.
  package func registerMirror(_ request: MirrorRequest) throws(OriginError) -> OriginAnswer<MirrorAnswer> {
    try send(OriginCall("POST", "mirrors", request))
  }

  /// Removes a mirror's registration.
  package func forgetMirror(_ name: String) throws(OriginError) -> OriginAnswer<MirrorAnswer> {
    try send(OriginCall("DELETE", "mirrors/\(OriginCall.escaped(name))"))
  }

  /// Takes a lease: nothing is removed while it lasts.
  package func acquireLease(_ request: LeaseRequest) throws(OriginError) -> LeaseAnswer {
    try send(OriginCall("POST", "leases", request)).value
  }

  /// Extends a lease from now on; refused with 404 if it has ended.
  package func renewLease(_ id: String, _ request: LeaseRequest) throws(OriginError) {
    _ = try send(OriginCall("POST", "leases/\(OriginCall.escaped(id))", request), as: LeaseAnswer.self)
  }

  /// Ends a lease; one that has already ended is no error.
  package func endLease(_ id: String) throws(OriginError) {
    _ = try send(OriginCall("DELETE", "leases/\(OriginCall.escaped(id))"), as: LeaseEnd.self)
  }

  /// Returns the versions of a channel that gc keeps.
  package func pins(of channel: ChannelAddress) throws(OriginError) -> OriginAnswer<PinList> {
    try get("\(channel.path)/pins")
  }

  /// Pins a version, which gc then keeps.
  package func pin(_ request: PinRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<Pin>
  {
    try send(OriginCall("POST", "\(channel.path)/pins", request))
  }

  /// Unpins a version: a number, or a time at which it was live.
  package func unpin(_ version: String, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<UnpinAnswer>
  {
    try send(OriginCall("DELETE", "\(channel.path)/pins/\(OriginCall.escaped(version))"))
  }

  /// Removes bytes from everywhere.
  package func purge(_ request: PurgeRequest) throws(OriginError) -> OriginAnswer<PurgeAnswer> {
    var call = OriginCall("POST", "purge", request)
    call.timeouts.stallSeconds = OriginCall.releaseTimeout
    return try send(call)
  }

  /// Returns what was purged.
  package func purges() throws(OriginError) -> OriginAnswer<PurgeList> { try get("purges") }

  /// Allows purged bytes to be published again.
  package func liftPurge(_ sha256: String, reason: String?) throws(OriginError) -> OriginAnswer<Purge> {
    let query = reason.map { "?reason=\(OriginCall.escaped($0))" } ?? ""
    return try send(OriginCall("DELETE", "purges/\(OriginCall.escaped(sha256))\(query)"))
  }

  /// Returns all tokens ever created.
  package func tokens() throws(OriginError) -> OriginAnswer<TokenList> { try get("tokens") }

  /// Returns what the caller's own token may do.
  package func tokenInfo() throws(OriginError) -> OriginAnswer<TokenInfo> { try get("token") }

  /// Creates a token whose secret the caller has made.
  package func createToken(_ request: TokenRequest) throws(OriginError) -> OriginAnswer<TokenAnswer> {
    try send(OriginCall("POST", "tokens", request))
  }

  /// Revokes a token, given its name or id.
  package func revokeToken(_ name: String) throws(OriginError) -> OriginAnswer<TokenInfo> {
    try send(OriginCall("DELETE", "tokens/\(OriginCall.escaped(name))"))
  }

  /// Returns all webhooks.
  package func webhooks() throws(OriginError) -> OriginAnswer<WebhookList> { try get("webhooks") }

  /// Returns a webhook, given its id or URL; also below.
  package func webhook(_ name: String) throws(OriginError) -> OriginAnswer<WebhookInfo> {
    try get("webhooks/\(OriginCall.escaped(name))")
  }

  /// Adds a webhook.
  package func addWebhook(_ request: WebhookRequest) throws(OriginError) -> OriginAnswer<WebhookAnswer> {
    try send(OriginCall("POST", "webhooks", request))
  }

  /// Removes a webhook.
  package func removeWebhook(_ name: String) throws(OriginError) -> OriginAnswer<WebhookInfo> {
    try send(OriginCall("DELETE", "webhooks/\(OriginCall.escaped(name))"))
  }

  /// Sends a webhook a message that shows whether it works; the answer is the delivery, which is still to come.
  package func testWebhook(_ name: String) throws(OriginError) -> OriginAnswer<WebhookDeliveryInfo> {
    try send(OriginCall("POST", "webhooks/\(OriginCall.escaped(name))/test", WebhookTestRequest()))
  }

  /// Returns the newest deliveries to a webhook.
  package func webhookDeliveries(_ name: String, limit: Int) throws(OriginError)
    -> OriginAnswer<WebhookDeliveryList>
  {
    try get("webhooks/\(OriginCall.escaped(name))/deliveries?limit=\(limit)")
  }
}
