import DeviceTestSupport
import System
import Testing

@testable import XCacheDevice

private let second: UInt64 = 1_000_000_000

/// Answers that arrive very slowly.
@Suite struct SlowDocumentTests {
  @Test func slowAnswersAreInspectedEarly() {
    var watch = DocumentWatch(DocumentPace(), from: 5 * second)
    #expect(watch.next(100, at: 5 * second) == .proceed)
    #expect(watch.next(200, at: 6 * second - 1) == .proceed)
    #expect(watch.next(300, at: 6 * second) == .inspect)
    #expect(watch.next(400, at: 6 * second + 1) == .proceed)
    #expect(watch.next(500, at: 7 * second) == .inspect)
    #expect(watch.next(600, at: 8 * second) == .proceed)
    #expect(watch.next(700, at: 9 * second) == .inspect)
  }

  /// Less than 2,048 bytes a second after a minute.
  @Test func answersBelowTheRateAreAborted() {
    var watch = DocumentWatch(DocumentPace(firstInspection: 1_000 * second), from: 0)
    #expect(watch.next(1, at: 60 * second) == .proceed)
    #expect(watch.next(61 * 2_048, at: 61 * second) == .proceed)
    #expect(watch.next(61 * 2_048 - 1, at: 61 * second) == .abort)
    #expect(watch.hasAborted)
    // The time to fetch the policy that it names isn't counted.
    var other = DocumentWatch(DocumentPace(firstInspection: 1_000 * second), from: 0)
    other.excludeInspection(30 * second)
    #expect(other.next(1, at: 90 * second) == .proceed)
    #expect(other.next(1, at: 91 * second) == .abort)
  }

  /// A body of 16 bytes, one every ten milliseconds.
  private struct SlowTransport: Transport {
    func get(
      _ request: TransportRequest, receive: (RawSpan) -> Bool
    ) throws(TransportError) -> TransportReply {
      for _ in 0..<16 {
        Clock.sleep(for: .milliseconds(10))
        guard receive(bytes("x").span.bytes) else { throw TransportError(.stopped, "stopped") }
      }
      return TransportReply(status: 200, received: 16)
    }
  }

  @Test func slowDocumentsTimeOut() throws {
    var fetcher = DocumentFetcher(transport: SlowTransport(), limit: 100)
    #expect(try fetcher.get("http://m.test/").body.count == 16)
    fetcher.pace = DocumentPace(firstInspection: 20_000_000, patience: 50_000_000, minRate: 1_000)
    var looks: [Int] = []
    let error = #expect(throws: DeviceError.self) {
      try fetcher.get("http://m.test/", partial: { looks.append($0.count) })
    }
    guard case .noAnswer(_, let reason)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(reason.kind == .timedOut && (looks.last ?? 16) < 16)
  }

  /// The kill switch doesn't wait for the rest of the answer.
  @Test func policyIsFollowedBeforeTheRestArrives() throws {
    let bench = try Bench()
    let origin = bench.origin
    try origin.publish(["https://m.test/a.js": bytes("a")])
    let device = try bench.device()
    _ = try device.update()
    origin.serve(
      bytes(#"{"code":200,"data":{"version":"1","intercept":false,"bypass":[],"scripts":[]}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
    let rest = String(repeating: "x", count: 640)
    origin.fail { url in
      guard url.contains("configure.json") else { return nil }
      let data = #"{"policy":"1","rest":"\#(rest)","update":false,"version":"1"}"#
      return .body(bytes(#"{"code":200,"data":\#(data)}"#))
    }
    origin.setPiece(64)
    let (pieces, held) = (Locked(0), Locked<String?>(nil))
    origin.eachPiece { url in
      guard url.contains("configure.json") else { return }
      let count = pieces.withLock { count in
        count += 1
        return count
      }
      if count == 3 { Clock.sleep(for: .milliseconds(1_050)) }
      if count == 5 { held.withLock { $0 = device.runtimePolicy.version } }
    }
    #expect(try device.update(force: true).documents.policy?.to == "1")
    #expect(held.withLock { $0 } == "1")
    #expect(device.policy.withLock { $0.failures } == 0)
  }
}
