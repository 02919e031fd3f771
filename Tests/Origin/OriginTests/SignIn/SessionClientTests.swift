import Testing

@testable import Origin

/// What tells a person's sessions apart, and that nothing else of what a browser sends is kept.
@Suite struct SessionClientTests {
  private static let mozilla = "Mozilla/5.0"
  private static let webkit = "AppleWebKit/537.36 (KHTML, like Gecko)"

  @Test(arguments: [
    ("\(mozilla) (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox on Linux"),
    (
      "\(mozilla) (Windows NT 10.0; Win64; x64) \(webkit) Chrome/141.0.0.0 Safari/537.36", "Chrome on Windows"
    ),
    (
      "\(mozilla) (Windows NT 10.0; Win64; x64) \(webkit) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
      "Edge on Windows"
    ),
    (
      "\(mozilla) (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.4 Safari/605.1.15",
      "Safari on macOS"
    ),
    (
      "\(mozilla) (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 CriOS/120.0 Safari/604.1",
      "Chrome on iPhone"
    ),
    (
      "\(mozilla) (Linux; Android 14; Pixel 8) \(webkit) Chrome/141.0.0.0 Mobile Safari/537.36",
      "Chrome on Android"
    ),
    ("Firefox/1", "Firefox"),
  ])
  func namesABrowser(field: String, name: String) { #expect(BrowserName.read(field) == name) }

  @Test(arguments: [
    "", "curl/8.5.0", "<script>Linux", "Firefox", String(repeating: "Firefox/1 Linux ", count: 64),
  ])
  func namesNoOther(field: String) { #expect(BrowserName.read(field) == nil) }

  @Test func splitsADetail() {
    #expect(SessionClient.parts(of: "console, Firefox on Linux") == ("console", "Firefox on Linux"))
    #expect(SessionClient.parts(of: "console") == ("console", nil))
    #expect(SessionClient.parts(of: "cli") == ("cli", nil))
    // A job's run isn't one of the console's.
    #expect(SessionClient.parts(of: "consoles").client == "consoles")
  }
}
