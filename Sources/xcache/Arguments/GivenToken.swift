import Manifests
import System

/// A token that the command line or the environment gives, and which of them: messages name its source, never its text.
struct GivenToken {
  let text: String
  /// `--token`, `XCACHE_TOKEN`, or the file.
  let source: String

  init(text: String, source: String) {
    self.text = text
    self.source = source
  }

  /// What is given: on the command line before what the environment has; nil: nothing is.
  ///
  /// A file that anybody may read is warned of: a container's secrets are mounted so, and their folder keeps others out.
  /// - Throws: `UsageError`, `Failure`, without the text.
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
    let bytes = try Arguments.file(path, limit: 4096)
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
