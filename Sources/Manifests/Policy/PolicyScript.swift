import System

/// A script that an app injects into its pages, by hash and signature.
package struct PolicyScript: Hashable, Sendable {
  package let name: String
  /// Where the bytes are, absolute.
  package let download: String
  package let sha256: SHA256
  /// An Ed25519 signature (RFC 8032) over the bytes, in base64, made off the server; the public key is in the app.
  package let signature: String

  /// Bytes of a script that an origin takes at most.
  package static let limit = 1_000_000

  package init(name: String, download: String, sha256: SHA256, signature: String) {
    self.name = name
    self.download = download
    self.sha256 = sha256
    self.signature = signature
  }

  /// A letter or digit, then letters, digits, `.`, `-` and `_`, 64 at most.
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

  package var json: JSONValue {
    [
      "download": .string(download), "name": .string(name), "sha256": .string(sha256.hex),
      "signature": .string(signature),
    ]
  }
}
