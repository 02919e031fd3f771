import System
import Values

/// The ID token of a CI job (OpenID Connect Core 1.0 §2) from a file, the environment or GitHub, with its source: messages name the
/// source, never the token.
struct GivenIDToken: Sendable {
  /// Where the token is had from.
  private enum Place: Sendable {
    case text(String)
    case github(GitHubIDTokens)
  }

  private let place: Place
  /// `XCACHE_ID_TOKEN`, the file's name, or `GitHub Actions`.
  let source: String

  /// The largest token that is taken, in bytes: an origin takes no larger one.
  private static let limit = 16 << 10

  /// Returns the ID token of this job: that of `--id-token`, `XCACHE_ID_TOKEN`, `XCACHE_ID_TOKEN_FILE`, or GitHub's; nil if there is
  /// none, or the command takes none.
  /// - Throws: `UsageError`, `Failure`, without the token.
  init?(_ arguments: Arguments) throws {
    guard arguments.takes("id-token") else { return nil }
    if arguments.all("id-token").isEmpty, let text = arguments.environment["XCACHE_ID_TOKEN"], !text.isEmpty {
      guard let token = Self.token(text) else {
        throw UsageError(
          "XCACHE_ID_TOKEN doesn't contain an ID token: that is three parts with dots in between")
      }
      (place, source) = (.text(token), "XCACHE_ID_TOKEN")
      return
    }
    if let path = try arguments.value("id-token") {
      guard Self.token(path) == nil else {
        throw UsageError(
          "\(arguments.source("id-token")) is an ID token, and takes the name of a file: others can read command lines. Set "
            + "XCACHE_ID_TOKEN to the token, or write it to a file")
      }
      (place, source) = (.text(try Self.read(path)), path)
      return
    }
    guard let github = try GitHubIDTokens(arguments.environment) else { return nil }
    (place, source) = (.github(github), "GitHub Actions")
  }

  private static func read(_ path: String) throws -> String {
    if let size = try Kernel.status(path)?.size, size > limit {
      throw Failure("\(path) contains no ID token: it has \(Bytes.text(size)), and an ID token is one line")
    }
    let bytes = try Arguments.file(path, limit: limit)
    guard let token = token(String(decoding: bytes, as: UTF8.self)) else {
      throw Failure("\(path) contains no ID token: that is three parts with dots in between")
    }
    return token
  }

  /// Returns a text as an ID token, without white space around it; nil if it can't be one: a JWS in compact form (RFC 7515 §3.1) has three
  /// parts in base64url.
  static func token(_ text: String) -> String? {
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let word = words.first, word.utf8.count <= limit else { return nil }
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    // `{"` in base64url: what each header begins with.
    guard parts.count == 3, parts[0].hasPrefix("eyJ"),
      parts.allSatisfy({ part in part.utf8.count > 7 && part.utf8.allSatisfy(isBase64URL) })
    else { return nil }
    return String(word)
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    ASCII.isUnreserved(byte) && byte != UInt8(ascii: ".") && byte != UInt8(ascii: "~")
  }

  /// Whether another one can be had later in the same job.
  var isRenewable: Bool { if case .github = place { true } else { false } }

  /// What stays the same in all commands of a job, and no other job has.
  var key: String {
    switch place {
    case .text(let token): token
    case .github(let github): github.key
    }
  }

  /// Returns the token for an audience. That of a text is in it already.
  /// - Throws: `Failure` if GitHub gives none.
  func token(for audience: String, trace: (@Sendable (String) -> Void)?) throws -> String {
    switch place {
    case .text(let token): token
    case .github(let github): try github.token(for: audience, trace: trace)
    }
  }
}
