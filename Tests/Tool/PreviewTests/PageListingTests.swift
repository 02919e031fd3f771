import Testing
import Values

@testable import Preview

/// What is said of a page that a release doesn't have under its address.
@Suite struct PageListingTests {
  private static let urls = [
    "https://m.example.com/index.html", "https://m.example.com/a/", "http://m.example.com/old.html",
  ]

  @Test(arguments: [
    ("https://m.example.com/index.html", true, nil),
    ("https://m.example.com/index.html?x=1", true, nil),
    ("https://m.example.com/a", false, "the release has https://m.example.com/a/, with a slash at its end"),
    (
      "https://m.example.com", false,
      "the release has https://m.example.com/index.html, but not the folder's address"
    ),
    ("https://m.example.com/gone", false, nil),
    (
      "http://m.example.com/index.html?x=1", false,
      "the release has https://m.example.com/index.html?x=1, with https;"
    ),
    ("http://m.example.com:8080/index.html", false, nil),
    ("http://m.example.com/old.html", true, "a preview's device answers https addresses only"),
  ])
  func hints(_ page: String, _ isListed: Bool, _ hint: String?) throws {
    let listing = PageListing(try ResourceURL(page), among: Self.urls)
    #expect(listing.isListed == isListed && listing.fallback == nil)
    if let hint {
      #expect(listing.hint?.hasPrefix(hint) == true, "\(listing.hint ?? "")")
    } else {
      #expect(listing.hint == nil)
    }
  }

  @Test func routes() throws {
    let index = "https://m.example.com/index.html"
    let route = PageListing(
      try ResourceURL("https://m.example.com/runs/1"), among: Self.urls, fallback: index)
    #expect(!route.isListed && route.fallback == index && route.hint == nil)
    let plain = PageListing(
      try ResourceURL("http://m.example.com/runs/1"), among: Self.urls, secureFallback: index)
    #expect(
      plain.fallback == nil
        && plain.hint
          == "\(index) is the fallback of https://m.example.com/runs/1, with https; devices treat these as two addresses"
    )
  }
}
