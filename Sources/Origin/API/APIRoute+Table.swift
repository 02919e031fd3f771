import HTTP
import Manifests
import Store

extension APIRoute {
  /// The whole API. Where two shapes cover a path, the first one has it.
  static let all: [APIRoute] = [
    APIRoute("apps", [.get: .reply(.scope(.read), channels)]),
    APIRoute("audit", [.get: .reply(.everything, audit)]),
    APIRoute("audit/export", [.get: .reply(.everything, audit)]),
    APIRoute("blobs", [.post: .upload(.scope(.publish), UploadReceiver.pack)]),
    APIRoute("blobs/missing", [.post: .stream(.scope(.publish), limit: digests, missingBlobs)]),
    APIRoute("blobs/*", [.put: .upload(.scope(.publish), UploadReceiver.blob)]),
    APIRoute("default-app", [.post: .change(.everything, nameDefaultApp)]),
    APIRoute("gc", [.post: .change(.everything, collect)]),
    APIRoute("leases", [.post: .change(.scope(.read), tellMirror)]),
    APIRoute(
      "leases/*", [.post: .change(.scope(.read), tellMirror), .delete: .reply(.scope(.read), askMirror)]),
    APIRoute("mirror", [.get: .reply(.scope(.read), askMirror)]),
    APIRoute(
      "mirrors",
      [.get: .reply(.scope(.read), askMirror), .post: .change(.scope(.read), limit: large, tellMirror)]),
    APIRoute("mirrors/*", [.delete: .reply(.scope(.read), askMirror)]),
    APIRoute("tokens", [.get: .reply(.everything, tokens), .post: .change(.everything, createToken)]),
    APIRoute("tokens/*", [.delete: .reply(.everything, revokeToken)]),
    channel("", [.get: .reply(.channel(.read), read)]),
    channel("/log", [.get: .reply(.channel(.read), read)]),
    channel("/diff", [.get: .reply(.channel(.read), read)]),
    channel("/manifest", [.get: .reply(.channel(.read), read)]),
    channel("/mirror/*", [.get: .reply(.channel(.read), read)]),
    channel("/releases", [.post: .stream(.channel(.publish), limit: largest, release)]),
    channel("/releases/*", [.get: .reply(.channel(.read), read)]),
    channel("/preparations", [.post: .stream(.channel(.publish), limit: largest, prepare)]),
    channel("/bundles/*/entries", [.get: .reply(.channel(.read), read)]),
    // A pin keeps a version of the whole channel, with the bundles of all teams in it.
    channel(
      "/pins", [.get: .reply(.channel(.read), readKept), .post: .change(.wholeChannel(.publish), pin)]),
    channel("/pins/*", [.delete: .reply(.wholeChannel(.publish), unpin)]),
    channel("/adoption", [.get: .reply(.channel(.read), readKept)]),
    channel("/prefetch", document),
    channel("/prefetch/log", [.get: .reply(.channel(.read), readDocument)]),
    channel("/prefetch/rollback", [.post: .change(.wholeChannel(.publish), changeDocument)]),
    channel("/policy", document),
    channel("/policy/log", [.get: .reply(.channel(.read), readDocument)]),
    channel(
      "/settings",
      [.get: .reply(.channel(.read), readDocument), .post: .change(.wholeChannel(.publish), changeDocument)]),
    channel("/create", [.post: .change(.channel(.admin), operate)]),
    channel("/freeze", [.post: .change(.channel(.admin), operate)]),
    channel("/promote", [.post: .change(.channel(.publish), operate)]),
    channel("/remove", [.post: .change(.channel(.admin), operate)]),
    channel("/rollback", [.post: .change(.channel(.publish), operate)]),
    channel("/thaw", [.post: .change(.channel(.admin), operate)]),
  ]

  /// A policy with a script of 1 MB, a prefetch config, what a copy of a thousand channels names. Bytes.
  private static let large = 2 << 20
  /// 100,000 digests, and some white space.
  private static let digests = 8 << 20
  /// A release of 100,000 resources is some 30 MB of JSON.
  private static let largest = 256 << 20

  private static let document: [Method: Act] = [
    .get: .reply(.channel(.read), readDocument),
    .post: .change(.wholeChannel(.publish), limit: large, changeDocument),
  ]

  private static func channel(_ rest: String, _ acts: [Method: Act]) -> APIRoute {
    APIRoute("apps/*/channels/*\(rest)", acts)
  }

  // MARK: - The origin

  private static let channels: Reply = { (api, _, caller) throws(Problem) in
    try ChannelList(store: api.store, caller: caller).reply()
  }
  private static let audit: Reply = { (api, call, _) throws(Problem) in
    try AuditCalls(store: api.store, call: call).reply()
  }
  private static let missingBlobs: Stream = { (api, _, _) throws(Problem) in
    StreamedDocument(DigestDocument(store: api.store))
  }
  private static let nameDefaultApp: Change = { (api, call, caller, body) throws(Problem) in
    try DefaultAppCalls(desk: api.releases, call: call, caller: caller).set(body)
  }
  private static let collect: Change = { (api, call, caller, body) throws(Problem) in
    try KeepingCalls(api, call, caller).collect(body)
  }
  private static let askMirror: Reply = { (api, call, caller) throws(Problem) in
    try MirrorCalls(store: api.store, call: call, caller: caller).reply()
  }
  private static let tellMirror: Change = { (api, call, caller, body) throws(Problem) in
    try MirrorCalls(store: api.store, call: call, caller: caller).reply(body)
  }
  private static let tokens: Reply = { (api, call, caller) throws(Problem) in
    try TokenCalls(store: api.store, caller: caller, call: call).list()
  }
  private static let createToken: Change = { (api, call, caller, body) throws(Problem) in
    try TokenCalls(store: api.store, caller: caller, call: call).create(body)
  }
  private static let revokeToken: Reply = { (api, call, caller) throws(Problem) in
    try TokenCalls(store: api.store, caller: caller, call: call).revoke(call.path[1])
  }

  // MARK: - A channel

  private static let read: Reply = { (api, call, caller) throws(Problem) in
    try ChannelCalls(store: api.store, deltas: api.deltas, call: call, caller: caller).reply()
  }
  private static let release: Stream = { (api, call, caller) throws(Problem) in
    let calls = ReleaseCalls(api, call, caller)
    return StreamedDocument(
      ReleaseDocument(calls) { (calls, body) throws(Problem) in try calls.release(body) })
  }
  private static let prepare: Stream = { (api, call, caller) throws(Problem) in
    let calls = ReleaseCalls(api, call, caller)
    return StreamedDocument(
      ReleaseDocument(calls) { (calls, body) throws(Problem) in try calls.prepare(body) })
  }
  private static let readKept: Reply = { (api, call, caller) throws(Problem) in
    try KeepingCalls(api, call, caller).read()
  }
  private static let pin: Change = { (api, call, caller, body) throws(Problem) in
    try KeepingCalls(api, call, caller).pin(body)
  }
  private static let unpin: Reply = { (api, call, caller) throws(Problem) in
    try KeepingCalls(api, call, caller).unpin()
  }
  private static let readDocument: Reply = { (api, call, caller) throws(Problem) in
    try DocumentCalls(api, call, caller).read()
  }
  private static let changeDocument: Change = { (api, call, caller, body) throws(Problem) in
    try DocumentCalls(api, call, caller).change(body)
  }
  private static let operate: Change = { (api, call, caller, body) throws(Problem) in
    try OperationCalls(api, call, caller).reply(body)
  }
}
