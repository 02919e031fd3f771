import Origin
import System
import Values

/// The option of `serve` for caches that are told to drop answers.
enum ServePurge {
  static let options: [Option] = [
    .value(
      "purge", "KIND:TARGET",
      "with --edge-ttl: have this cache drop a channel's answers when they change: varnish:URL, nginx:URL, "
        + "fastly:SERVICE, cloudflare:ZONE, or http:URL to post to, with {tag}, {app} and {channel}; repeatable"
    )
  ]

  /// The largest token, in bytes.
  private static let limit = 4096

  /// Returns the caches to tell.
  /// - Throws: `UsageError`, without what may be confidential.
  static func targets(_ arguments: Arguments) throws -> [EdgePurgeTarget] {
    let texts = try arguments.list("purge")
    guard !texts.isEmpty else { return [] }
    let place = arguments.source("purge")
    guard try arguments.value("edge-ttl") != nil else {
      throw UsageError(
        "\(place) needs --edge-ttl SECONDS: without it, caches keep no answers that they could drop")
    }
    var kinds: [EdgePurgeTarget.Kind] = []
    for text in texts {
      let kind = try kind(text, in: place)
      if kinds.contains(kind) {
        throw UsageError("\(place) names a cache twice: \(EdgePurgeTarget(kind, token: nil).name)")
      }
      kinds.append(kind)
    }
    return try kinds.map { EdgePurgeTarget($0, token: try token(for: $0, in: place, arguments)) }
  }

  /// Returns a warning about a cache that probably refuses what it is told.
  static func warning(about target: EdgePurgeTarget) -> String? {
    if target.hasToken { return nil }
    return
      "edge \(target.name): \(EdgePurgeTarget.variable(of: target.kind)) isn't set; the configurations of deploy/edge refuse "
      + "purges without it"
  }

  private static func kind(_ text: String, in place: String) throws(UsageError) -> EdgePurgeTarget.Kind {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let value = parts.count > 1 ? parts[1] : ""
    switch parts[0] {
    case "varnish": return .varnish(try url(value, "varnish", in: place))
    case "nginx": return .nginx(try url(value, "nginx", in: place))
    case "http": return .http(template: try template(value, in: place))
    case "fastly": return .fastly(service: try id(value, "fastly:SERVICE, the id of a service", in: place))
    case "cloudflare": return .cloudflare(zone: try id(value, "cloudflare:ZONE, the id of a zone", in: place))
    default:
      // Not repeated: a URL that was given alone may have a password.
      throw UsageError(
        "\(place): expected varnish:URL, nginx:URL, fastly:SERVICE, cloudflare:ZONE or http:URL, such as "
          + "varnish:http://127.0.0.1:6081")
    }
  }

  private static func url(_ text: String, _ kind: String, in place: String) throws(UsageError) -> BaseURL {
    let fault = "\(place) \(kind): expected an http or https URL such as \(kind):http://127.0.0.1:6081"
    guard !text.contains("@") else { throw UsageError(withoutPassword(place, kind)) }
    do { return try BaseURL(text) } catch { throw UsageError("\(fault) (\(safe(error)))") }
  }

  private static func withoutPassword(_ place: String, _ kind: String) -> String {
    "\(place) \(kind): the URL contains an @; leave the password out, and set the token in XCACHE_PURGE_TOKEN"
  }

  /// Says what is wrong with a URL without its path and query, which may be confidential.
  private static func safe(_ error: ResourceURLError) -> ResourceURLError {
    ResourceURLError(text: EdgePurgeTarget.place(error.text), problem: error.problem)
  }

  /// Checks a URL, and returns it as it is sent, except that the names of `{tag}` and so on are still to come.
  private static func template(_ text: String, in place: String) throws(UsageError) -> String {
    let names = ["tag", "app", "channel"]
    let rest = names.reduce(text) { $0.replacing("{\($1)}", with: "") }
    let host = EdgePurgeTarget.place(text)
    guard !host.contains("@") else { throw UsageError(withoutPassword(place, "http")) }
    guard !rest.contains("{"), !rest.contains("}"), !host.contains("{") else {
      throw UsageError(
        "\(place) http: a URL may have {tag}, {app} and {channel}, behind its host; no other braces")
    }
    do {
      // In a path, the serialiser escapes braces.
      let url = try ResourceURL(text)
      return names.reduce(url.text) { $0.replacing("%7B\($1)%7D", with: "{\($1)}") }
    } catch {
      throw UsageError(
        "\(place) http: expected an http or https URL such as http:https://edge.example.com/purge/{app}/{channel} (\(safe(error)))"
      )
    }
  }

  private static func id(_ text: String, _ words: String, in place: String) throws(UsageError) -> String {
    let isID = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(ASCII.isLetterOrDigit)
    guard isID else { throw UsageError("\(place): expected \(words): letters and digits") }
    return text
  }

  /// Returns the token from the variable of a kind, or the file that its variable with `_FILE` names.
  private static func token(for kind: EdgePurgeTarget.Kind, in place: String, _ arguments: Arguments) throws
    -> String?
  {
    let variable = EdgePurgeTarget.variable(of: kind)
    func value(_ name: String) -> String? { arguments.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    switch (value(variable), value("\(variable)_FILE"), kind) {
    case (_?, _?, _): throw UsageError("set either \(variable) or \(variable)_FILE, not both")
    case (let text?, nil, _): return try checked(text, in: variable)
    case (nil, let path?, _): return try token(inFile: path, "\(variable)_FILE")
    case (nil, nil, .varnish), (nil, nil, .nginx), (nil, nil, .http): return nil
    case (nil, nil, .fastly), (nil, nil, .cloudflare):
      throw UsageError(
        "\(place) \(EdgePurgeTarget(kind, token: nil).name) needs an API token that may purge, in \(variable), or in the file that "
          + "\(variable)_FILE names")
    }
  }

  private static func token(inFile path: String, _ variable: String) throws -> String {
    let bytes: [UInt8]
    do { bytes = try Arguments.file(path, limit: limit) } catch {
      let fault = Fault(error)
      throw Failure("\(variable): \(fault.message)", code: fault.exitCode, name: fault.name)
    }
    return try checked(String(decoding: bytes, as: UTF8.self), in: "\(variable): \(path)")
  }

  private static func checked(_ text: String, in place: String) throws(UsageError) -> String {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, words[0].utf8.count <= limit, words[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw UsageError("\(place) doesn't contain a token: one word without spaces") }
    return String(words[0])
  }
}
