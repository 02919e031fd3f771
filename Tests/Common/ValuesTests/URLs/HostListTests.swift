import Testing

@testable import Values

@Suite struct HostListTests {
  private func has(_ names: [String], _ url: String) throws -> Bool {
    try HostList(names).contains(ResourceURL(url))
  }

  @Test(arguments: [
    "https://m.example.com/", "http://m.example.com/a", "https://M.Example.com/a",
    "https://m.example.com:8443/a",
  ])
  func namesMatchTheirHost(url: String) throws {
    #expect(try has(["m.example.com"], url))
    #expect(try has(["x.test", "M.EXAMPLE.com"], url))
    #expect(try has(["*"], url))
  }

  @Test(arguments: [
    "https://example.com/", "https://a.m.example.com/", "https://m.example.com.evil.test/",
    "https://xm.example.com/", "https://evil.test/m.example.com", "https://evil.test/?m.example.com",
  ])
  func namesDoNotMatchOtherHosts(url: String) throws { #expect(try !has(["m.example.com"], url)) }

  @Test func wildcardsMatchTheDomainAndItsSubdomains() throws {
    let names = ["*.example.com"]
    #expect(try has(names, "https://example.com/") && has(names, "https://a.b.example.com/x"))
    #expect(try !has(names, "https://badexample.com/") && !has(names, "https://example.com.evil.test/"))
    #expect(try has(["[::1]", "127.0.0.1"], "http://[::1]:80/") && has(["127.0.0.1"], "http://127.0.0.1:9/"))
  }

  @Test(arguments: [
    "", "https://m.example.com", "m.example.com/", "m.example.com:80", "u@m.example.com", "a b", "*.",
    "*.*.com",
    "m.*.com", "**", "m.example.com?x", "m.example.com#x", "..", "a\\b", "bücher.example",
  ])
  func invalidHostsAreRefused(name: String) {
    #expect(throws: HostListError.name(name)) { try HostList(["m.example.com", name]) }
  }

  @Test func emptyAndTooLongListsAreRefused() {
    #expect(throws: HostListError.empty) { try HostList([]) }
    #expect(throws: HostListError.tooMany(257)) { try HostList((0..<257).map { "h\($0).test" }) }
  }
}
