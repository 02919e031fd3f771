import System
import Testing

/// Public keys made of their numbers; RSA is in IdentityTests, which can make such signatures.
@Suite struct SignatureKeyTests {
  private static let message = Array("header.payload".utf8)

  /// r and s of a signature in DER, 32 bytes each.
  private static func raw(_ der: [UInt8]) -> [UInt8] {
    let split = 4 + Int(der[3])
    return [der[4..<split], der[(split + 2)...]].flatMap { number -> [UInt8] in
      let digits = number.drop { $0 == 0 }
      return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }
  }

  /// Enough of them that r or s begins with a bit of 1, or with zeros.
  @Test func `a point of P-256 verifies r and s`() throws {
    for _ in 0..<300 {
      let key = P256PrivateKey()
      let point = Array(key.publicKey.suffix(64))
      let made = try #require(SignatureKey(x: Array(point.prefix(32)), y: Array(point.suffix(32))))
      let der = key.sign(Self.message)
      let signature = Self.raw(der)
      #expect(made.algorithm == .ecdsaP256 && made.verifies(signature, of: Self.message))
      #expect(!made.verifies(signature, of: Self.message + [0]))
      #expect(!made.verifies(der, of: Self.message))
      #expect(SignatureKey(x: Array(point.suffix(32)), y: Array(point.prefix(32))) == nil)
    }
  }

  @Test func `32 bytes verify Ed25519`() throws {
    let key = SigningKey()
    let made = try #require(SignatureKey(ed25519: key.publicKey))
    let signature = key.sign(Self.message)
    #expect(made.algorithm == .ed25519 && made.verifies(signature, of: Self.message))
    #expect(!made.verifies(signature, of: []))
    for bit in 0..<512 {
      var other = signature
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!made.verifies(other, of: Self.message))
    }
    #expect(SignatureKey(ed25519: Array(key.publicKey.dropLast())) == nil)
    #expect(SignatureKey(ed25519: []) == nil)
  }

  @Test func `RSA numbers that no key should have are refused`() {
    let modulus = [UInt8](repeating: 0xFF, count: 256)
    #expect(SignatureKey(modulus: modulus, exponent: [1, 0, 1])?.algorithm == .rsaSHA256)
    #expect(SignatureKey(modulus: [0, 0] + modulus, exponent: [0, 1, 0, 1]) != nil)
    #expect(SignatureKey(modulus: [0x7F] + modulus.dropFirst(), exponent: [3]) == nil)
    for exponent: [UInt8] in [[], [0], [1], [2], [1, 0, 0], [1] + [UInt8](repeating: 1, count: 8)] {
      #expect(SignatureKey(modulus: modulus, exponent: exponent) == nil)
    }
    for modulus: [UInt8] in [[], [0], modulus.dropLast() + [0xFE], [UInt8](repeating: 0xFF, count: 1025)] {
      #expect(SignatureKey(modulus: modulus, exponent: [1, 0, 1]) == nil)
    }
    #expect(SignatureKey(modulus: [UInt8](repeating: 0xFF, count: 1024), exponent: [3]) != nil)
  }
}
