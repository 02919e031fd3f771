import DeviceTestSupport
import System
import Testing
import Values

@testable import XCacheDevice

/// An origin under an attacker's control may send any number; the update fails, and the app continues.
@Suite struct HostileOriginTests {
  let bench: Bench
  let device: Device

  init() throws {
    bench = try Bench()
    try bench.origin.publish(["https://m.test/a.js": bytes("one")])
    device = try bench.device(change: { $0.diskLimit = 1 << 20 })
    _ = try device.update()
  }

  private func entry(_ number: Int, size: String) throws -> JSONValue {
    let text = bytes("\(number)")
    return try JSONValue.parse(
      bytes(
        """
        {"ctype":"text/plain","download":"https://cdn.test/x/xcache/1/2/1/\(SHA256.of(text).hex)/f\(number)",\
        "md5":"\(MD5.of(text).hex)","sha256":"\(SHA256.of(text).hex)","size":\(size),"version":"1"}
        """))
  }

  @Test(
    "Sizes with any sum",
    arguments: [
      "9007199254740991", "9007199254740992", "9223372036854775807", "-9223372036854775808", "-1", "1e400",
    ])
  func sizes(size: String) throws {
    let members = try (0..<1100).map {
      JSONObject.Member(key: "https://m.test/\($0).js", value: try entry($0, size: size))
    }
    bench.origin.publish(raw: JSONObject(members), version: 2)
    guard size == "9007199254740991" else {
      #expect(throws: DeviceError.self) { try device.update(force: true) }
      #expect(device.version == "1")
      return
    }
    // A manifest may list more than there is room for, but nothing of that is fetched.
    _ = bench.origin.takeLog()
    #expect(try device.update(force: true).missing == 1100)
    #expect(!bench.origin.takeLog().contains { $0.hasPrefix("https://cdn.test/") })
  }

  @Test(arguments: [
    "9007199254740992", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e400",
  ])
  func versionsAndIntervals(number: String) throws {
    for answer in [
      #"{"code":200,"data":{"update":false,"version":"\#(number)"}}"#,
      #"{"code":200,"data":{"update":false,"version":"1","interval":\#(number)}}"#,
      #"{"code":200,"data":{"update":false,"version":"1","policy":"\#(number)","prefetch":"\#(number)"}}"#,
      #"{"code":\#(number),"data":{},"message":"m"}"#,
    ] {
      bench.origin.fail { $0.contains("configure.json") ? .body(bytes(answer)) : nil }
      _ = try? device.update(force: true)
      bench.origin.fail(nil)
      #expect(device.version == "1")
    }
    #expect(try device.update(force: true).to == "1")
  }
}
