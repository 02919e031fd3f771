import System
import Values

/// A token from the command line or the environment, with its source: messages name the source, never the token.
struct GivenToken {
  let text: String
  /// `--token`, `XCACHE_TOKEN`, or the file's name.
  let source: String
  /// The largest file that is read, in bytes.
  private static let limit = 4096

  init(text: String, source: String) {
    self.text = text
    self.source = source
  }

  /// Returns the given token, with the command line taking precedence over the environment; nil if there is none.
  ///
  /// A world-readable file causes only a warning: a container's secrets are mounted that way, in a protected folder.
  /// - Throws: `UsageError`, `Failure`, without the token.
  init?(_ arguments: Arguments) throws {
    if arguments.all("token-file").isEmpty || !arguments.all("token").isEmpty,
      let text = try arguments.value("token")
    {
      let source = arguments.source("token")
      guard let token = Profiles.token(text) else {
        throw UsageError(
          "\(source) doesn't contain a token: it has spaces or characters that tokens don't have")
      }
      self.init(text: token, source: source)
      return
    }
    guard let path = try arguments.value("token-file") else { return nil }
    if let size = try Kernel.status(path)?.size, size > Self.limit {
      throw Failure("\(path) contains no token: it has \(Bytes.text(size)), and a token is one short line")
    }
    let bytes = try Arguments.file(path, limit: Self.limit)
    if let mode = try Kernel.status(path)?.mode, mode & 0o007 != 0 {
      arguments.remark(
        "warning: other users of this machine can read the token in \(path): run chmod o= \(path)")
    }
    let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard let token = words.first.flatMap({ Profiles.token(String($0)) }) else {
      throw Failure("\(path) contains no token")
    }
    self.init(text: token, source: path)
  }
}
