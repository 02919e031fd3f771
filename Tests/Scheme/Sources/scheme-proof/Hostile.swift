import CWebKit
import Foundation

/// Pages that aren't the app's, and what they reach of a page on the scheme: its server's answers, its cookies, and the bodies that it
/// handed over, whose ids they know.
extension Engine {
  private static let app = "xcache-https://m.example.com"
  private static let sibling = "xcache-https://api.example.com"

  /// - Returns: how many cases differ from the expected.
  static func runHostile() -> Int {
    guard let parts, let page = FileManager.default.contents(atPath: parts.site + "/hostile.html"),
      let served = xs_serve(String(decoding: page, as: UTF8.self))
    else {
      print("FAIL the hostile page: nobody serves it")
      return 1
    }
    let foreign = String(cString: served)
    g_free(served)
    forget()
    // A body is handed over under this id, and its request never comes.
    let id = (0..<16).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }.joined()
    var failed = expect("owner", show("\(app)/owner.html?hand=\(id)"), "ok", atLeast: 3)
    _ = parts.server.asked()

    failed += expect("a foreign page", show("\(foreign)?\(id)"), "refused", atLeast: 19)
    failed += expect("a foreign page's requests", parts.server.asked(), limits: [])
    let frames = foreign.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    failed += expect("a foreign frame", show("\(app)/framing.html?\(id)&\(frames)"), "refused", atLeast: 38)
    failed += expect("a foreign frame's requests", parts.server.asked(), limits: framing)
    // Another host of the app's is asked as any origin is; what is this page's alone stays so.
    failed += expect("another host's page", show("\(sibling)/hostile.html?\(id)&own"), "refused", atLeast: 8)
    failed += expect("another host's requests", parts.server.asked(), limits: own)

    failed += expect("owner", show("\(app)/owner.html?take=\(id)"), "ok", atLeast: 3)
    return failed
  }

  /// Frames: WebKit says nothing of where requests for images and scripts are from; a frame that says nothing of its origin asks, and
  /// doesn't get to read the answer.
  private static let framing = [
    "GET https://m.example.com/framing.html?", "GET https://m.example.com/cookies with cookies",
    "GET https://m.example.com/echo?case=limit with cookies",
    "GET https://m.example.com/cases.js with cookies",
  ]
  private static let own = ["GET https://api.example.com/hostile.html"]

  private static func expect(
    _ what: String, _ results: [[String]]?, _ expected: String, atLeast count: Int
  ) -> Int {
    guard let results else {
      print("FAIL \(what): \(trouble ?? "the page came to no end")")
      return 1
    }
    var failed = results.count < count ? 1 : 0
    if failed > 0 { print("FAIL \(what): \(results.count) cases instead of \(count)") }
    for result in results where result.count == 2 {
      let isRight = result[1] == expected
      if !isRight { failed += 1 }
      print("\(isRight ? "ok  " : "FAIL") \(what): \(result[0])\(isRight ? "" : ": " + result[1])")
    }
    return failed
  }

  /// Nothing reached the server but what is said here.
  private static func expect(_ what: String, _ asked: [String], limits: [String]) -> Int {
    let others = asked.filter { line in !limits.contains { line.hasPrefix($0) } }
    for line in others { print("FAIL \(what): \(line)") }
    if others.isEmpty { print("ok   \(what)") }
    return others.count
  }
}
