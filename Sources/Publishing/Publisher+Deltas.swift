import HTTPClient
import Manifests
import OriginAPI
import System

// Deltas are made while the release is planned; the publisher asks how far they are, so that no request hangs.
extension Publisher {
  /// Has the origin make the deltas of a release, and waits for those on the version that it replaces, as long as the
  /// origin wants releases to wait. nil: nothing changes, or the origin can't.
  /// - Throws: `overBudget`.
  func prepare(
    _ request: ReleaseRequest, _ plans: [Plan], _ app: AppName, _ channel: ChannelName
  ) throws(PublishError) -> JSONValue? {
    guard plans.contains(where: { !$0.put.isEmpty }) else { return nil }
    var call = OriginCall("POST", "apps/\(app)/channels/\(channel)/preparations")
    call.body = .bytes(request.json)
    call.fields = [HTTPField("Content-Type", "application/json")]
    call.isRepeatable = true
    var state: JSONValue
    do {
      state = try PublishError.asking { () throws(OriginError) in try api.send(call) }
    } catch .origin(.refused(let problem)) where problem.status == 404 && request.options.maxUpdate == nil {
      // An older origin has no preparations; an app that isn't there is the release's to report.
      return nil
    }
    let mustWait = !request.options.now || request.options.maxUpdate != nil
    if mustWait { state = try wait(state, app, channel, until: request.options.dryRun ? "done" : "ready") }
    if let limit = request.options.maxUpdate,
      let bytes = (state["cost"]?["last1"] ?? state["cost"]?["new"])?["bytes"]?.integer, bytes > limit
    {
      throw .overBudget(bytes: bytes, limit: limit)
    }
    return state
  }

  /// The preparation with all its costs, which are worked out to the end after the release is visible.
  func finish(
    _ preparation: JSONValue?, _ app: AppName, _ channel: ChannelName, waits: Bool
  ) throws(PublishError) -> JSONValue? {
    guard let preparation else { return nil }
    return waits ? try wait(preparation, app, channel, until: "done") : preparation
  }

  /// Asks again until a preparation is as far as wanted, or late.
  private func wait(
    _ state: JSONValue, _ app: AppName, _ channel: ChannelName, until member: String
  ) throws(PublishError) -> JSONValue {
    var state = state
    var pause: UInt32 = 50
    while state[member]?.bool != true, state["late"]?.bool != true, let id = state["id"]?.string {
      progress(.preparing(done: state["filesDone"]?.integer ?? 0, of: state["files"]?.integer ?? 0))
      Clock.sleep(for: .milliseconds(pause))
      pause = min(pause * 3 / 2, 500)
      state = try PublishError.asking { () throws(OriginError) in
        try api.send(
          "POST", "apps/\(app)/channels/\(channel)/preparations", json: ["id": .string(id)],
          isRepeatable: true)
      }
    }
    return state
  }

  /// Returns when no older version is left from which deltas are to be made.
  package func waitForDeltas(_ app: AppName, _ channel: ChannelName) throws(PublishError) {
    while true {
      let deltas = try PublishError.asking { () throws(OriginError) in
        try api.get("apps/\(app)/channels/\(channel)")["deltas"]
      }
      guard let deltas, deltas.object != nil else { return }
      let pending = deltas["pending"]?.integer
      if pending == 0 { return }
      progress(.waitingForDeltas(left: pending ?? 1))
      Clock.sleep(for: .milliseconds(200))
    }
  }
}
