import Testing

@testable import HTTPDNS

@Suite struct IPAddressTests {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1", "192.0.2.1"), ("255.255.255.255", "255.255.255.255", "255.255.255.255"),
    ("2001:DB8::1", "2001:db8::1", "[2001:db8::1]"),
    ("[2001:db8:0:0:0:0:0:1]", "2001:db8::1", "[2001:db8::1]"),
    ("::", "::", "[::]"), ("::ffff:192.0.2.1", "::ffff:c000:201", "[::ffff:c000:201]"),
  ])
  func addressesAreParsed(text: String, written: String, inURLs: String) throws {
    let address = try #require(IPAddress(text))
    #expect(address.text == written && address.authority == inURLs)
    #expect(IPAddress(bytes: address.bytes) == address)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "0x1.2.3.4", "1.2.3.4 ", "1.2.3.-4", "::1::", "[::1",
    "m.example.com", "1::2::3", "12345::", "1.2.3.4:80", ":",
  ])
  func invalidAddressesAreRefused(text: String) { #expect(IPAddress(text) == nil) }

  @Test func onlyLengthsOfAddressesAreAccepted() {
    for count in 0...20 {
      #expect((IPAddress(bytes: [UInt8](repeating: 1, count: count)) != nil) == [4, 16].contains(count))
    }
  }

  @Test(arguments: [
    ("M.Example.COM", "m.example.com"), ("_a.b-c", "_a.b-c"), ("m.example.com.", nil), ("a..b", nil),
    ("", nil),
    ("1.2.3.4", nil), ("[::1]", nil), ("::1", nil), ("a b", nil), ("ä.de", nil), ("*.a", nil),
    (String(repeating: "a", count: 64) + ".b", nil), (String(repeating: "a.", count: 127) + "a", nil),
  ])
  func hostNames(text: String, name: String?) { #expect(HostName(text)?.text == name) }

  /// Unspecified, broadcast and multicast addresses are dropped.
  @Test func answersOnlyContainUnicastAddresses() {
    let texts = ["0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1"]
    #expect(LookupAnswer(texts.compactMap { IPAddress($0) }, seconds: 1) == nil)
    let many = (0..<200).compactMap { IPAddress("10.0.0.\($0)") }
    #expect(LookupAnswer(many + many, seconds: 1)?.addresses.count == LookupAnswer.limit)
  }
}
