import DeviceLinux
import SocketServer
import System
import Testing

@testable import XCacheDevice

@Suite struct RangeTests {
  /// The head, body and result of a request for the rest of a file.
  private func ask(_ request: (String) -> TransportRequest, _ steps: @escaping SocketServer.Handler) -> (
    head: TransportHead?, body: [UInt8], result: Result<TransportReply, TransportError>
  ) {
    let server = SocketServer(steps)
    var head: TransportHead?
    var body: [UInt8] = []
    let result = Result { () throws(TransportError) in
      try CurlTransport().get(request("\(server.url)/x")) {
        head = $0
        return true
      } receive: { bytes in
        bytes.withUnsafeBytes { body.append(contentsOf: $0) }
        return true
      }
    }
    return (head, body, result)
  }

  private func rest(_ url: String, tag: String? = nil) -> TransportRequest {
    var request = TransportRequest(url, limit: 1000, isUncoded: true)
    request.start = 3
    request.entityTag = tag
    return request
  }

  @Test func partialAnswersHaveAnOffset() {
    let answer = ask({ rest($0, tag: "\"abc\"") }) { request in
      guard request.fields["range"] == "bytes=3-", request.fields["if-range"] == "\"abc\"",
        request.fields["accept-encoding"] == "identity"
      else { return .answer(400) }
      return .answer(
        206, [("Content-Range", "bytes 3-6/7"), ("ETag", "\"abc\"")], body: Array("sage".utf8))
    }
    #expect(answer.head == TransportHead(status: 206, start: 3, total: 7, entityTag: "\"abc\""))
    #expect(answer.body == Array("sage".utf8))
    #expect((try? answer.result.get())?.status == 206)
  }

  @Test func serversWithoutRangesSendTheWholeFile() {
    let answer = ask({ rest($0) }) { _ in .answer(200, body: Array("message".utf8)) }
    #expect(answer.head == TransportHead(status: 200, start: 0, total: 7))
    #expect(answer.body == Array("message".utf8))
  }

  /// "A client MUST NOT generate an If-Range header field containing an entity tag that is marked as weak."
  @Test(arguments: ["W/\"abc\"", "abc", ""]) func weakTagsAreNotSent(tag: String) {
    let answer = ask({ rest($0, tag: tag) }) { request in
      .answer(request.fields["if-range"] == nil && request.fields["range"] != nil ? 200 : 400, body: [1])
    }
    #expect((try? answer.result.get())?.status == 200)
  }

  @Test(arguments: ["bytes 2-5/7", "bytes 0-6/7", "bytes */7", "bytes 3-6", "pages 3-6/7", "", "bytes 3-7/7"])
  func otherPartsAreRefused(range: String) {
    let answer = ask({ rest($0) }) { _ in
      .answer(206, [("Content-Range", range)], body: Array("sage".utf8))
    }
    #expect(answer.body.isEmpty)
    guard case .failure(let error) = answer.result else {
      Issue.record("there is an answer")
      return
    }
    #expect(error.kind == .other)
  }
}
