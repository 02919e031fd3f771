import CCrypto

/// Random bytes, and comparison that takes the same time wherever two secrets differ.
package enum Secrets {
  /// `count` bytes from the operating system's generator.
  package static func random(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
      guard RAND_bytes(out.baseAddress, Int32(count)) == 1 else { fatalError("no random bytes to be had") }
      initialized = count
    }
  }

  /// Whether both hold the same bytes; only their lengths may be learnt from the time it takes.
  package static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && CRYPTO_memcmp(a, b, a.count) == 0
  }
}
