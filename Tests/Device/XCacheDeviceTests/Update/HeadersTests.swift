import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

private let page = "https://m.test/index.html"

/// A page from the device has the headers that its server would have sent.
@Suite struct HeadersTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try Bench() }

  /// Publishes the newest manifest with these headers for the page, as the next version.
  private func publish(_ headers: JSONValue, version: Int64) throws {
    var body: [UInt8] = []
    let url = "\(FakeOrigin.server)/configure.json?app=shop&channel=online"
    _ = try origin.get(TransportRequest(url, limit: 1 << 20)) {
      $0.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    var map = try #require(JSONValue.parse(body)["data"]?["resourcemap"]?.object)
    var entry = try #require(map[page]?.object)
    entry["headers"] = headers
    map[page] = .object(entry)
    origin.publish(raw: map, version: version)
    _ = origin.takeLog()
  }

  @Test func pagesHaveTheirHeadersAndNosniff() throws {
    try origin.publish([page: bytes("page")])
    let expected = ["Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff"]
    do {
      let device = try bench.device()
      _ = try device.update()
      #expect(try device.page(for: page)?.headers == ["X-Content-Type-Options": "nosniff"])
      try publish(["Content-Security-Policy": "default-src 'self'", "X-Later": "later"], version: 2)
      let report = try device.update(force: true)
      // The bytes are held.
      #expect(report.kind == .patch && report.fetched == 0 && origin.takeLog().count == 1)
      #expect(try device.page(for: page)?.headers == expected)
    }
    // Also after a restart.
    #expect(try bench.device().page(for: page)?.headers == expected)
    #expect(try bench.state() == bench.fresh())
  }

  @Test(arguments: ["DENY\r\nSet-Cookie: a=b", "", "é"])
  func invalidValuesAreRefused(_ value: String) throws {
    try origin.publish([page: bytes("page")])
    let device = try bench.device()
    _ = try device.update()
    try publish(["X-Frame-Options": .string(value)], version: 2)
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(device.version == "1")
  }
}
