import HTTP
import Testing
import Values

@Suite struct AddressTests {
  static let addresses: [(String, String?)] = [
    ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("256.0.0.1", nil), ("1.2.3", nil),
    ("1.2.3.4.5", nil), ("1.2.3.", nil), ("01.2.3.4", nil), ("", nil), ("::", "::"), ("::1", "::1"),
    ("1::", "1::"), ("2001:DB8::8:800:200C:417A", "2001:db8::8:800:200c:417a"),
    ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:7", nil), ("1:2:3:4:5:6:7:8:9", nil),
    ("1::2::3", nil), ("::ffff:10.0.0.1", "10.0.0.1"), ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
    ("12345::", nil), ("1:", nil), (":1", nil), (":::", nil), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("g::", nil),
    ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("1:2:3:4:5:6:7:8::", nil),
  ]

  @Test(arguments: addresses) func addressesAreParsed(_ text: String, _ wanted: String?) {
    #expect(IPAddress(text)?.unmapped.description == wanted)
  }

  static let ranges: [(String, String, Bool?)] = [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3", "10.1.2.3", true),
    ("10.1.2.3", "10.1.2.4", false), ("0.0.0.0/0", "9.9.9.9", true), ("0.0.0.0/0", "::1", false),
    ("2001:db8::/32", "2001:db8:1::", true), ("2001:db8::/32", "2001:db9::", false),
    ("::/0", "1.2.3.4", true),
    ("10.0.0.1/32", "10.0.0.1", true), ("10.0.0.0/33", "10.0.0.0", nil), ("x/8", "10.0.0.0", nil),
    ("::1/128", "::1", true), ("10.0.0.0/", "10.0.0.0", nil),
  ]

  @Test(arguments: ranges) func rangesContainAddresses(_ range: String, _ address: String, _ wanted: Bool?)
    throws
  {
    let peer = try #require(IPAddress(address))
    #expect(AddressRange(range).map { $0.contains(peer) } == wanted)
  }

  static let forwarded: [(String, String)] = [
    ("9.9.9.9", "9.9.9.9"), ("1.1.1.1, 9.9.9.9", "9.9.9.9"), ("9.9.9.9, 10.0.0.2", "9.9.9.9"),
    ("1.1.1.1,9.9.9.9 , 10.0.0.2,10.0.0.3", "9.9.9.9"), ("nonsense", "10.0.0.1"), ("", "10.0.0.1"),
    ("9.9.9.9:80", "9.9.9.9"), ("[2001:db8::1]:80", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"),
    ("x, 10.0.0.2", "10.0.0.2"), ("10.0.0.9", "10.0.0.9"),
  ]

  @Test(arguments: forwarded) func clientOfForwardedRequests(_ field: String, _ wanted: String) throws {
    let proxy = try #require(IPAddress("10.0.0.1"))
    let trusted = try #require(AddressRange("10.0.0.0/8"))
    let bytes = [UInt8](field.utf8)
    let found = ForwardedFor.client(of: proxy, bytes.span.bytes, trusted: [trusted])
    #expect(found.description == wanted)
  }
}

@Suite struct QueryItemsTests {
  static let queries: [(String, [String])] = [
    ("", []), ("a=1", ["a|1"]), ("a=1&b=2", ["a|1", "b|2"]), ("&&a&&", ["a|"]), ("a=b=c", ["a|b=c"]),
    ("=x", ["|x"]), ("a=", ["a|"]), ("a=%31+2", ["a|1 2"]), ("%61pp=x%26y", ["app|x&y"]),
    ("a=%", ["a|%"]), ("a=%4", ["a|%4"]), ("a=%zz", ["a|%zz"]),
  ]

  @Test(arguments: queries) func itemsAreParsed(_ query: String, _ wanted: [String]) {
    let bytes = [UInt8](query.utf8)
    var items = QueryItems(bytes.span.bytes)
    var found: [String] = []
    while let item = items.next() {
      found.append("\(item.name.formDecodedText ?? "?")|\(item.value.formDecodedText ?? "?")")
    }
    #expect(found == wanted)
  }

  @Test func valuesAreDecoded() {
    let bytes = [UInt8]("%35%353".utf8)
    let span = bytes.span.bytes
    #expect(span.formDecodedDecimal == 553)
    #expect(span.formDecoded?.bytes.equals("553") == true)
    let long = [UInt8](repeating: 0x61, count: 65)
    #expect(long.span.bytes.formDecoded == nil)
    #expect(long.span.bytes.extracting(0..<64).formDecoded?.bytes.text == String(repeating: "a", count: 64))
  }
}
