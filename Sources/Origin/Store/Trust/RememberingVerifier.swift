import Manifests
import System
import Trust
import Values

/// Verifies signatures with the system's library, each one once as long as it is remembered: an answer has up to 1,000 statements, and most
/// of them are those of the answer before.
///
/// What is remembered depends on nothing but the bytes of key, signature and message, so no root and no row can make it wrong.
struct RememberingVerifier: SignatureVerifier {
  func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool {
    // A key has one length, and a signature at most 72 bytes: no two triples have the same bytes.
    let digest = SHA256.of(
      key.spki + [UInt8(truncatingIfNeeded: signature.der.count)] + signature.der + message)
    if Self.memory.withLock({ $0[digest] }) == true { return true }
    // That it isn't valid isn't remembered: the library may only have lacked memory.
    guard SystemVerifier().verifies(signature, of: message, by: key) else { return false }
    Self.memory.withLock { $0[digest] = true }
    return true
  }

  private static let memory = Locked<RecentResults>(RecentResults(limit: 8192))
}

/// Results of the most recent calls, at most twice as many as `limit`.
struct RecentResults: Sendable {
  private let limit: Int
  private var new: [SHA256: Bool] = [:]
  private var old: [SHA256: Bool] = [:]

  init(limit: Int) { self.limit = limit }

  var count: Int { new.count + old.count }

  subscript(key: SHA256) -> Bool? {
    mutating get {
      if let known = new[key] { return known }
      guard let known = old.removeValue(forKey: key) else { return nil }
      self[key] = known
      return known
    }
    set {
      if new.count >= limit { (old, new) = (new, [:]) }
      new[key] = newValue
    }
  }
}
