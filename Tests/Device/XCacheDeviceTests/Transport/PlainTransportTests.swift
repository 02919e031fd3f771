import System
import Testing

@testable import XCacheDevice

@Suite struct PlainTransportTests {
  /// A transport of an app's own that knows nothing of heads and ranges.
  private struct Plain: Transport {
    func get(
      _ request: TransportRequest, receive: (RawSpan) -> Bool
    ) throws(TransportError) -> TransportReply {
      for byte in Array("message".utf8) where !receive([byte].span.bytes) {
        throw TransportError(.stopped, "stopped")
      }
      return TransportReply(status: 200, received: 7)
    }
  }

  @Test func aTransportWithoutRangesTellsThatItStartsAtZero() throws {
    var heads: [TransportHead] = []
    var body: [UInt8] = []
    var request = TransportRequest("https://x.test/", limit: 1000, isUncoded: true)
    request.start = 3
    let reply = try Plain().get(request) {
      heads.append($0)
      return true
    } receive: { bytes in
      bytes.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    #expect(heads == [TransportHead(status: 200)] && body == Array("message".utf8) && reply.status == 200)
  }
}
