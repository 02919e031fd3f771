import System

/// What tells one installation of an app from another in a rollout: 16 random bytes, made at its first start.
///
/// It never leaves the device, and goes with its folder.
package struct InstallID: Hashable, Sendable {
  /// The length, in bytes.
  package static let byteCount = 16

  /// The 16 bytes.
  package let bytes: [UInt8]

  /// Reads 16 bytes; nil for any other count.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  private init(made bytes: [UInt8]) { self.bytes = bytes }

  /// Returns a new one, from the system's secure source of random bytes.
  package static func random() -> InstallID {
    var generator = SystemRandomNumberGenerator()
    return InstallID(made: (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  /// Returns the bucket of this installation in rollouts with `seed`, from 0 to 9,999.
  package func bucket(seed: String) -> Int {
    let digest = SHA256.of(bytes + Array(seed.utf8)).bytes
    return Int(digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % UInt64(RolloutRule.all))
  }
}
