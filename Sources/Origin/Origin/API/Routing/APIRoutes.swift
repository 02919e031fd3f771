import HTTP

extension APIRoute {
  /// All routes of the API. Where two shapes match a path, the first one wins.
  static let all: [APIRoute] = [
    APIRoute("apps", [.get: .reply(.scope(.read), ChannelHandler.list)]),
    APIRoute("apps/*/trust", [.get: .reply(.app(.read), TrustHandler.overview)]),
    APIRoute("apps/*/trust/head-key", [.post: .change(.wholeApp(.admin), TrustHandler.headKey)]),
    APIRoute(
      "apps/*/trust/root", [.post: .change(.wholeApp(.admin), limit: envelopes, TrustHandler.push)]),
    APIRoute(
      "apps/*/trust/statements", [.post: .change(.app(.publish), limit: envelopes, TrustHandler.keep)]),
    APIRoute("audit", [.get: .reply(.everything, AuditHandler.newest)]),
    APIRoute("audit/export", [.get: .reply(.everything, AuditHandler.export)]),
    APIRoute("audit/verify", [.get: .reply(.everything, AuditHandler.verify)]),
    APIRoute("blobs", [.post: .upload(.scope(.publish), PackSink.init)]),
    APIRoute(
      "blobs/missing",
      [.post: .document(.scope(.publish), limit: digests) { _ in StreamedDocument(DigestDocument()) }]),
    APIRoute("blobs/*", [.put: .upload(.scope(.publish), BlobSink.init)]),
    APIRoute("default-app", [.post: .change(.everything, ChannelHandler.nameDefaultApp)]),
    APIRoute("disk", [.get: .reply(.everything, FleetHandler.disk)]),
    APIRoute("gc", [.post: .change(.everything, MaintenanceHandler.collect)]),
    APIRoute(
      "identities",
      [.get: .reply(.everything, IdentityHandler.list), .post: .change(.everything, IdentityHandler.add)]),
    APIRoute("identities/*", [.delete: .reply(.everything, IdentityHandler.remove)], .urgent),
    APIRoute("leases", [.post: .change(.scope(.read), rejectsUnknown: false, MirrorHandler.takeLease)]),
    APIRoute(
      "leases/*",
      [
        .post: .change(.scope(.read), rejectsUnknown: false, MirrorHandler.renewLease),
        .delete: .reply(.scope(.read), MirrorHandler.endLease),
      ]),
    APIRoute("mirror", [.get: .reply(.scope(.read), MirrorHandler.overview)]),
    APIRoute(
      "mirrors",
      [
        .get: .reply(.scope(.read), MirrorHandler.mirrors),
        .post: .change(.scope(.read), limit: large, rejectsUnknown: false, MirrorHandler.register),
      ]),
    APIRoute("overview", [.get: .reply(.scope(.read), FleetHandler.overview)]),
    APIRoute(
      "problems/acknowledge",
      [
        .post: .change(.scope(.release), ProblemHandler.acknowledge),
        .delete: .reply(.scope(.release), ProblemHandler.withdraw),
      ]),
    APIRoute("purge", [.post: .change(.everything, PurgeHandler.purge)]),
    APIRoute("purges", [.get: .reply(.everything, PurgeHandler.list)]),
    APIRoute("purges/*", [.delete: .reply(.everything, PurgeHandler.lift)]),
    APIRoute("search", [.get: .sharedReply(.scope(.read), SearchHandler.search)]),
    APIRoute("sessions", [.get: .reply(.scope(.read), SignInHandler.sessions)]),
    APIRoute("sessions/*", [.delete: .reply(.scope(.read), SignInHandler.end)], .urgent),
    APIRoute(
      "signins/*",
      [.get: .reply(.scope(.read), SignInHandler.show), .post: .change(.scope(.read), SignInHandler.decide)]),
    APIRoute("token", [.get: .reply(.scope(.read), FleetHandler.token)]),
    APIRoute("mirrors/*", [.delete: .reply(.scope(.read), MirrorHandler.forget)]),
    APIRoute(
      "tokens",
      [.get: .reply(.everything, TokenHandler.list), .post: .change(.everything, TokenHandler.create)]),
    APIRoute("tokens/*", [.delete: .reply(.everything, TokenHandler.revoke)], .urgent),
    APIRoute("waiting", [.get: .reply(.scope(.read), ApprovalHandler.waiting)]),
    APIRoute(
      "webhooks",
      [.get: .reply(.everything, WebhookHandler.list), .post: .change(.everything, WebhookHandler.add)]),
    APIRoute(
      "webhooks/*",
      [
        .get: .reply(.everything, WebhookHandler.show),
        .delete: .reply(.everything, WebhookHandler.remove),
      ]),
    APIRoute("webhooks/*/deliveries", [.get: .reply(.everything, WebhookHandler.deliveries)]),
    APIRoute("webhooks/*/test", [.post: .change(.everything, WebhookHandler.test)]),
    channel("", [.get: .reply(.channel(.read), ChannelHandler.overview)]),
    channel("/log", [.get: .sharedReply(.channel(.read), HistoryHandler.log)]),
    channel("/diff", [.get: .sharedReply(.channel(.read), HistoryHandler.diff)]),
    channel("/manifest", [.get: .sharedReply(.channel(.read), HistoryHandler.manifest)]),
    channel("/mirror/resources", [.get: .sharedReply(.channel(.read), MirrorHandler.resources)]),
    channel("/mirror/document", [.get: .sharedReply(.channel(.read), MirrorHandler.document)]),
    channel("/releases", [.post: release(ReleaseHandler.release)]),
    channel("/releases/*", [.get: .sharedReply(.channel(.read), HistoryHandler.release)]),
    channel(
      "/releases/*/pictures",
      [
        .get: .reply(.channel(.read), PictureHandler.list),
        .post: .change(.channel(.publish), PictureHandler.keep),
      ]),
    channel("/releases/*/pictures/*", [.get: .reply(.channel(.read), PictureHandler.show)]),
    channel("/preparations", [.post: release(ReleaseHandler.prepare)]),
    channel("/bundles/*/entries", [.get: .sharedReply(.channel(.read), HistoryHandler.entries)]),
    // A pin keeps a version of the whole channel, including the bundles of all teams.
    channel(
      "/pins",
      [
        .get: .reply(.channel(.read), MaintenanceHandler.pins),
        .post: .change(.wholeChannel(.publish), MaintenanceHandler.pin),
      ]),
    channel("/pins/*", [.delete: .reply(.wholeChannel(.publish), MaintenanceHandler.unpin)]),
    channel("/adoption", [.get: .reply(.channel(.read), MaintenanceHandler.adoption)]),
    channel("/adoption/series", [.get: .reply(.channel(.read), FleetHandler.series)]),
    channel("/samples", [.get: .reply(.channel(.read), SampleHandler.list)]),
    channel("/entry", [.get: .sharedReply(.channel(.read), HistoryHandler.entry)]),
    channel("/preview", [.post: .change(.channel(.read), PreviewPageHandler.open)], .reads),
    channel(
      "/prefetch",
      [
        .get: .reply(.channel(.read), DocumentHandler.prefetch),
        .post: .change(.wholeChannel(.publish), limit: large, PrefetchHandler.push),
      ]),
    channel("/prefetch/log", [.get: .reply(.channel(.read), DocumentHandler.prefetchLog)]),
    channel(
      "/prefetch/rollback", [.post: .change(.wholeChannel(.release), PrefetchHandler.rollback)], .recovery),
    channel(
      "/policy",
      [
        .get: .reply(.channel(.read), DocumentHandler.policy),
        .post: .change(.wholeChannel(.release), limit: large, PolicyHandler.change),
      ], .urgent),
    channel("/policy/log", [.get: .reply(.channel(.read), DocumentHandler.policyLog)]),
    channel(
      "/settings",
      [
        .get: .reply(.channel(.read), DocumentHandler.settings),
        .post: .change(.wholeChannel(.publish), DocumentHandler.changeSettings),
      ]),
    channel("/create", [.post: .change(.channel(.admin), ChannelHandler.create)]),
    channel("/freeze", [.post: .change(.channel(.admin), ChannelHandler.freeze)], .urgent),
    channel("/protect", [.post: .change(.wholeChannel(.admin), ApprovalHandler.protect)], .urgent),
    channel("/promote", [.post: .change(.channel(.publish), PromotionHandler.promote)]),
    channel("/rebase", [.post: .change(.channel(.admin), ChannelHandler.rebase)]),
    channel("/remove", [.post: .change(.channel(.admin), ChannelHandler.remove)]),
    channel("/rollback", [.post: .change(.channel(.release), RollbackHandler.rollback)], .recovery),
    channel("/rollout", [.get: .reply(.channel(.read), RolloutHandler.list)]),
    channel("/rollout/set", [.post: .change(.channel(.release), RolloutHandler.set)]),
    channel("/rollout/pause", [.post: .change(.channel(.release), RolloutHandler.pause)], .recovery),
    channel("/rollout/resume", [.post: .change(.channel(.release), RolloutHandler.resume)]),
    channel("/rollout/complete", [.post: .change(.channel(.release), RolloutHandler.complete)]),
    channel("/rollout/halt", [.post: .change(.channel(.release), RolloutHandler.halt)], .recovery),
    channel("/schedules", [.get: .reply(.channel(.read), ScheduleHandler.list)]),
    channel(
      "/schedules/*",
      [
        .get: .reply(.channel(.read), ScheduleHandler.show),
        .delete: .reply(.channel(.release), ScheduleHandler.cancel),
      ]),
    channel("/schedules/*/approve", [.post: .change(.channel(.release), ApprovalHandler.approve)]),
    channel("/schedules/*/preview", [.get: .reply(.channel(.release), ApprovalHandler.preview)]),
    channel("/schedules/*/reject", [.post: .change(.channel(.release), ApprovalHandler.reject)], .recovery),
    channel("/schedules/*/request", [.get: .reply(.channel(.read), ScheduleHandler.request)]),
    channel("/schedules/*/statements", [.post: .change(.channel(.publish), ScheduleHandler.sign)]),
    channel("/source-maps", [.post: .change(.channel(.publish), limit: large, SourceMapHandler.keep)]),
    channel("/timeline", [.get: .sharedReply(.channel(.read), TimelineHandler.list)]),
    channel("/thaw", [.post: .change(.channel(.admin), ChannelHandler.thaw)], .urgent),
  ]

  /// Bytes: room for a policy with a script of 1 MB, a prefetch config, or what a mirror of a thousand channels names.
  private static let large = 2 << 20
  /// Bytes: room for a root, and some thousand statements.
  private static let envelopes = 8 << 20
  /// Bytes: room for 100,000 digests and some white space.
  private static let digests = 8 << 20
  /// Bytes; a release of 100,000 resources is about 30 MB of JSON.
  private static let largest = 256 << 20

  private static func channel(
    _ rest: String, _ operations: [Method: Operation], _ lane: Scheduling.Lane = .acts
  ) -> APIRoute { APIRoute("apps/*/channels/*\(rest)", operations, lane) }

  private static func release(
    _ method: @escaping @Sendable (ReleaseHandler) -> (ReleaseDocument) throws -> Response
  ) -> Operation {
    .document(.channel(.publish), limit: largest) { context in
      StreamedDocument(ReleaseDocument(context) { try method(ReleaseHandler(context: $0))($1) })
    }
  }
}
