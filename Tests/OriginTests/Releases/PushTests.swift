import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// How many releases are on their way to the CDN at a time.
@Suite struct PushTests {
  private static func unpublish(_ channel: String, _ origin: TestOrigin) throws -> TestOrigin.Reply {
    let body: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]], "now": true]
    return try origin.api("POST", "apps/shop/channels/\(channel)/releases", body)
  }

  /// Each may take minutes and keeps a worker: the third one is told to come again, and does.
  @Test func aThirdPushIsToldToComeAgain() throws {
    let gate = Monitor((entered: 0, isOpen: false))
    let origin = try TestOrigin { options in
      options.push = ReleasePush(names: { $0.version.number < 2 ? [] : ["file"] }) { _ in
        gate.broadcasting { $0.entered += 1 }
        gate.waiting { $0.isOpen ? () : nil }
      }
    }
    let channels = ["a", "b", "c"]
    for channel in channels {
      #expect(try origin.publish(["\(channel).js": "1"], channel: channel).status == 201)
    }
    let statuses = Locked<[Int]>([])
    let threads = try channels.prefix(2).map { channel in
      nonisolated(unsafe) let shared = try origin.another()
      return try OSThread(name: "push-\(channel)") {
        let status = (try? Self.unpublish(channel, shared).status) ?? 0
        statuses.withLock { $0.append(status) }
      }
    }
    gate.waiting { $0.entered == 2 ? () : nil }
    let busy = try Self.unpublish("c", origin)
    #expect(busy.status == 503 && busy.json["code"]?.string == "busy", "\(busy.text)")
    gate.broadcasting { $0.isOpen = true }
    for thread in threads { thread.join() }
    #expect(statuses.withLock { $0 } == [201, 201])
    #expect(try Self.unpublish("c", origin).status == 201)
    #expect(gate.broadcasting { $0.entered } == 3)
  }
}
