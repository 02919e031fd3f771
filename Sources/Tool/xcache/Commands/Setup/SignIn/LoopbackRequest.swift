import System
import Values

/// What a browser sends to 127.0.0.1 once a person has decided (RFC 8252 §7.3): the code of the sign-in, or that it was denied.
///
/// Anything on this machine, and any page in its browser, can send something else: what isn't this sign-in's redirect is answered, and
/// changes nothing.
struct LoopbackRequest {
  enum Decision: Hashable {
    /// The code, which only whoever has the verifier can use.
    case allowed(code: String)
    case denied
  }

  enum Reading: Hashable {
    /// The head isn't complete yet.
    case incomplete
    /// It is something else.
    case refused(status: Int, words: String)
    case decided(Decision)
  }

  /// The most bytes that a head may have.
  static let limit = 8192

  /// What the code is sent back with.
  let state: String
  /// The port that is listened on.
  let port: UInt16

  /// Reads what has come so far.
  func read(_ bytes: [UInt8]) -> Reading {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let end = text.firstRange(of: "\r\n\r\n") else {
      return bytes.count < Self.limit ? .incomplete : .refused(status: 431, words: "The request is too long.")
    }
    let lines = text[..<end.lowerBound].split(separator: "\r\n", omittingEmptySubsequences: false)
    let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
    guard bytes.count <= Self.limit, words.count == 3, words[2].hasPrefix("HTTP/1.") else {
      return .refused(status: 400, words: "This is not a request of a browser.")
    }
    // A name that resolves to this machine isn't it: another site's page must not read the answer (DNS rebinding).
    let hosts = lines.dropFirst().compactMap { line in
      line.lowercased().hasPrefix("host:")
        ? line.dropFirst(5).filter { !$0.isWhitespace }.lowercased() : nil
    }
    guard hosts == ["127.0.0.1:\(port)"] else {
      return .refused(status: 421, words: "This address is only for the browser that signs in.")
    }
    guard words[0] == "GET" else { return .refused(status: 405, words: "Only GET is possible here.") }
    let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    guard target[0] == "/", target.count == 2 else {
      return .refused(status: 404, words: "There is nothing here.")
    }
    return decision(in: target[1])
  }

  private func decision(in query: Substring) -> Reading {
    let other = Reading.refused(
      status: 400,
      words: "This does not belong to the sign-in that the terminal waits for. Nothing was changed.")
    var members: [String: String] = [:]
    for item in query.split(separator: "&") {
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let value = PercentEncoding.decode(parts[1].utf8),
        // OAuth 2.0 (RFC 6749 §3.1): parameters must not be included more than once.
        members.updateValue(String(decoding: value, as: UTF8.self), forKey: String(parts[0])) == nil
      else { return other }
    }
    guard let given = members["state"], Secrets.equal(Array(given.utf8), Array(state.utf8)) else {
      return other
    }
    if members["error"] != nil { return .decided(.denied) }
    guard let code = members["code"], (1...512).contains(code.utf8.count),
      code.utf8.allSatisfy(ASCII.isUnreserved)
    else { return other }
    return .decided(.allowed(code: code))
  }

  // MARK: - Answers

  /// Returns the answer to what was read; nil while it isn't complete.
  static func answer(to reading: Reading) -> [UInt8]? {
    switch reading {
    case .incomplete: nil
    case .refused(let status, let words): page(status, "Not the sign-in", words)
    case .decided(.allowed):
      page(200, "Allowed", "The terminal goes on from here. You can close this tab.")
    case .decided(.denied): page(200, "Denied", "Nobody was signed in. You can close this tab.")
    }
  }

  /// A page without scripts, styles and links. No text in it comes from outside.
  private static func page(_ status: Int, _ title: String, _ words: String) -> [UInt8] {
    let body =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>\(title) – xcache</title></head>\n"
      + "<body><main><h1>\(title)</h1><p>\(words)</p></main></body></html>\n"
    let head = [
      "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")", "Content-Type: text/html; charset=utf-8",
      "Content-Length: \(body.utf8.count)", "Cache-Control: no-store", "Connection: close",
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "Referrer-Policy: no-referrer",
      "X-Content-Type-Options: nosniff",
    ]
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }
}
