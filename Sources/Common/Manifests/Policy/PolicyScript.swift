import System
import Values

/// A script that an app injects into its pages, with its hash and signature.
package struct PolicyScript: Hashable, Sendable {
  /// The name under which devices request it.
  package let name: String
  /// The absolute URL of its bytes.
  package let download: String
  /// The digest of its bytes.
  package let sha256: SHA256
  /// An Ed25519 signature (RFC 8032) of the bytes, in base64, made off the server; the public key is in the app.
  package let signature: String

  /// The maximum size in bytes of a script that an origin accepts.
  package static let limit = 1_000_000

  package init(name: String, download: String, sha256: SHA256, signature: String) {
    self.name = name
    self.download = download
    self.sha256 = sha256
    self.signature = signature
  }

  /// Whether a text is a script's name: a letter or digit, then letters, digits, `.`, `-` and `_`, 64 at most.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, ASCII.isLetterOrDigit(first), text.utf8.count <= 64 else {
      return false
    }
    return text.utf8.allSatisfy { ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~") }
  }

  init?(reading value: JSONValue) {
    guard let name = value["name"]?.string, let download = value["download"]?.string,
      let sha256 = value["sha256"]?.string.flatMap({ SHA256(hex: $0) }),
      let signature = value["signature"]?.string
    else { return nil }
    self.init(name: name, download: download, sha256: sha256, signature: signature)
  }

  /// The script as in `policy.json`.
  package var json: JSONValue {
    [
      "download": .string(download), "name": .string(name), "sha256": .string(sha256.hex),
      "signature": .string(signature),
    ]
  }
}

/// The path of a policy's script below the public URL: `/{space}/{app}/script/{sha256}.js`.
package enum PolicyScriptPath {
  /// Returns the path, with its leading slash.
  package static func text(_ channel: ChannelName, _ app: AppName, _ sha256: SHA256) -> String {
    "/\(channel.space)/\(app)/script/\(name(sha256))"
  }

  /// Returns the file name.
  package static func name(_ sha256: SHA256) -> String { "\(sha256.hex).js" }

  /// Returns the script's hash from its file name; nil for any other name.
  package static func sha256(ofName name: some StringProtocol) -> SHA256? {
    name.hasSuffix(".js") ? SHA256(hex: name.dropLast(3)) : nil
  }
}
