import HTTP
import Manifests
import Store

extension APIRoute {
  /// The whole API. Where two shapes cover a path, the first one has it.
  static let all: [APIRoute] = [
    APIRoute("apps", [.get: .reply(channels)]),
    APIRoute("audit", [.get: .reply(audit)]),
    APIRoute("audit/export", [.get: .reply(audit)]),
    APIRoute("blobs", [.post: .upload(UploadReceiver.pack)]),
    APIRoute("blobs/missing", [.post: .change(missingBlobs)]),
    APIRoute("blobs/*", [.put: .upload(UploadReceiver.blob)]),
    APIRoute("gc", [.post: .change(collect)]),
    APIRoute("leases", [.post: .change(tellMirror)]),
    APIRoute("leases/*", [.post: .change(tellMirror), .delete: .reply(askMirror)]),
    APIRoute("mirror", [.get: .reply(askMirror)]),
    APIRoute("mirrors", [.get: .reply(askMirror), .post: .change(tellMirror)]),
    APIRoute("tokens", [.get: .reply(tokens), .post: .change(createToken)]),
    APIRoute("tokens/*", [.delete: .reply(revokeToken)]),
    channel("", [.get: .reply(read)]),
    channel("/log", [.get: .reply(read)]),
    channel("/diff", [.get: .reply(read)]),
    channel("/manifest", [.get: .reply(read)]),
    channel("/mirror/*", [.get: .reply(read)]),
    channel("/releases", [.post: .change(release)]),
    channel("/releases/*", [.get: .reply(read)]),
    channel("/preparations", [.post: .change(prepare)]),
    channel("/bundles/*/entries", [.get: .reply(read)]),
    channel("/pins", [.get: .reply(readKept), .post: .change(pin)]),
    channel("/pins/*", [.delete: .reply(unpin)]),
    channel("/adoption", [.get: .reply(readKept)]),
    channel("/prefetch", [.get: .reply(readDocument), .post: .change(changeDocument)]),
    channel("/prefetch/log", [.get: .reply(readDocument)]),
    channel("/prefetch/rollback", [.post: .change(changeDocument)]),
    channel("/policy", [.get: .reply(readDocument), .post: .change(changeDocument)]),
    channel("/policy/log", [.get: .reply(readDocument)]),
    channel("/settings", [.get: .reply(readDocument), .post: .change(changeDocument)]),
    channel("/create", [.post: .change(operate)]),
    channel("/freeze", [.post: .change(operate)]),
    channel("/promote", [.post: .change(operate)]),
    channel("/remove", [.post: .change(operate)]),
    channel("/rollback", [.post: .change(operate)]),
    channel("/thaw", [.post: .change(operate)]),
  ]

  private static func channel(_ rest: String, _ acts: [Method: Act]) -> APIRoute {
    APIRoute("apps/*/channels/*\(rest)", acts)
  }

  // MARK: - The origin

  private static let channels: Reply = { (api, _, caller) throws(Problem) in
    try ChannelList(store: api.store, caller: caller).reply()
  }
  private static let audit: Reply = { (api, call, caller) throws(Problem) in
    try AuditCalls(store: api.store, call: call, caller: caller).reply()
  }
  private static let missingBlobs: Change = { (api, _, caller, body) throws(Problem) in
    try BlobCalls(store: api.store, caller: caller).missing(body)
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
  private static let release: Change = { (api, call, caller, body) throws(Problem) in
    try ReleaseCalls(desk: api.releases, deltas: api.deltas, call: call, caller: caller).release(body)
  }
  private static let prepare: Change = { (api, call, caller, body) throws(Problem) in
    try ReleaseCalls(desk: api.releases, deltas: api.deltas, call: call, caller: caller).prepare(body)
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
