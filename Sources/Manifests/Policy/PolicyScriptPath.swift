import System

/// Where the bytes of a policy's script are, below the public URL: `/{space}/{app}/script/{sha256}.js`.
package enum PolicyScriptPath {
  package static func text(_ channel: ChannelName, _ app: AppName, _ sha256: SHA256) -> String {
    "/\(channel.space)/\(app)/script/\(name(sha256))"
  }

  /// The file's name.
  package static func name(_ sha256: SHA256) -> String { "\(sha256.hex).js" }

  /// The script that a file's name means; nil for any other name.
  package static func sha256(ofName name: some StringProtocol) -> SHA256? {
    name.hasSuffix(".js") ? SHA256(hex: name.dropLast(3)) : nil
  }
}
