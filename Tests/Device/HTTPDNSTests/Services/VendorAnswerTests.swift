import DeviceTestSupport
import Testing

@testable import HTTPDNS

@Suite struct VendorAnswerTests {
  let host = HostName.of("m.example.com")

  private func read(_ text: String, _ hosts: HostName...) -> [HostName: LookupAnswer]? {
    try? VendorAnswer.read(Array(text.utf8), for: hosts)
  }

  @Test func oneHost() {
    let text = """
      {"ips":["192.0.2.1","not one"],"ipsv6":["2001:db8::1"],"host":"M.Example.com","ttl":57,"client_ip":"x"}
      """
    #expect(read(text, host) == [host: .of("2001:db8::1", "192.0.2.1", seconds: 57)])
  }

  @Test func severalHosts() {
    let other = HostName.of("api.example.com")
    let text = """
      {"dns":[{"host":"m.example.com","ips":["192.0.2.1"],"type":1,"ttl":60},
      {"host":"api.example.com","ips":["192.0.2.2"],"ttl":-5},{"host":"evil.test","ips":["192.0.2.3"],"ttl":60},
      {"host":"api.example.com","ips":[]},7]}
      """
    #expect(read(text, host, other) == [host: .of("192.0.2.1"), other: .of("192.0.2.2", seconds: 0)])
  }

  /// Answers for other hosts, and without addresses, are ignored.
  @Test(arguments: [
    #"{"host":"evil.test","ips":["192.0.2.1"]}"#, #"{"host":"m.example.com","ips":[]}"#,
    #"{"host":"m.example.com"}"#, #"{"host":"m.example.com","ips":"192.0.2.1"}"#,
    #"{"host":7,"ips":["192.0.2.1"]}"#,
    #"{"dns":{}}"#,
  ])
  func answersWithoutAddresses(text: String) { #expect(read(text, host) ?? [:] == [:]) }

  @Test(arguments: ["", "[]", "{", "null", #"{"code":"InvalidAccount"}"#, "192.0.2.1;192.0.2.2,60"])
  func invalidAnswersAreRefused(text: String) {
    #expect(throws: LookupError.badAnswer) { try VendorAnswer.read(Array(text.utf8), for: [host]) }
  }

  @Test func ttlsOutOfRangeAreIgnored() {
    let text = #"{"host":"m.example.com","ips":["192.0.2.1"],"ttl":9999999999999999999999}"#
    #expect(read(text, host) == [host: .of("192.0.2.1", seconds: nil)])
  }

  @Test func addressesOfTheService() {
    let text = #"{"service_ip":["192.0.2.1","192.0.2.1","x"],"service_ipv6":["2001:db8::1"]}"#
    #expect(VendorAnswer.services(Array(text.utf8)).map(\.text) == ["192.0.2.1", "2001:db8::1"])
    #expect(VendorAnswer.services(Array("{}".utf8)).isEmpty && VendorAnswer.services([1]).isEmpty)
  }
}
