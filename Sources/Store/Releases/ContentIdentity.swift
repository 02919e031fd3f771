import Manifests
import Platform

extension ResourceContent {
  /// What makes two contents of one URL the same.
  struct Identity: Hashable, Sendable {
    let sha256: SHA256
    let ctype: ContentType
  }

  /// Bytes and type; md5 and size follow from the bytes.
  var identity: Identity { Identity(sha256: sha256, ctype: ctype) }
}
