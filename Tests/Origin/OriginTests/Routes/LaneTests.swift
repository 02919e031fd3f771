import HTTP
import Testing

@testable import Origin

@Suite struct LaneTests {
  private static let channel = "/api/v1/apps/shop/channels/online"

  @Test func smallEmergencyActsAreUrgent() throws {
    let origin = try TestOrigin()
    for path in ["policy", "freeze", "thaw"] {
      #expect(try origin.lane("POST", "\(Self.channel)/\(path)", length: 120) == .urgent, "\(path)")
    }
    #expect(try origin.lane("DELETE", "/api/v1/tokens/ci") == .urgent)
    #expect(try origin.lane("POST", "\(Self.channel)/policy", length: 16 << 10) == .urgent)
  }

  /// Reading a policy of 2 MB takes half a second, which would delay the kill switch of another token.
  @Test(
    arguments: [
      (17 << 10, []), (120, ["Content-Encoding: gzip"]), (nil, ["Transfer-Encoding: chunked"]),
    ] as [(Int?, [String])])
  func largeBodiesAreNotUrgent(length: Int?, lines: [String]) throws {
    let origin = try TestOrigin()
    for path in ["policy", "freeze", "thaw"] {
      #expect(try origin.lane("POST", "\(Self.channel)/\(path)", lines, length: length) == .acts, "\(path)")
    }
  }

  @Test func otherRoutesKeepTheirLanes() throws {
    let origin = try TestOrigin()
    #expect(try origin.lane("GET", "\(Self.channel)/policy") == .reads)
    #expect(try origin.lane("POST", "\(Self.channel)/rollback", length: 100_000) == .recovery)
    #expect(try origin.lane("POST", "\(Self.channel)/releases", length: 100_000) == .acts)
    #expect(try origin.lane("GET", "/metrics") == .open)
  }

  /// While the provider of people doesn't answer, jobs are let in, and people sign out.
  @Test func onlySignInsWaitForThePeoplesProvider() throws {
    let origin = try TestOrigin()
    for path in ["/auth/login", "/auth/callback"] { #expect(try origin.lane("GET", path) == .signIn) }
    #expect(try origin.lane("POST", "/auth/trade", length: 2000) == .trade)
    for path in ["/auth/logout", "/auth/device", "/auth/token"] {
      #expect(try origin.lane("POST", path, length: 100) == .open, "\(path)")
    }
  }
}
