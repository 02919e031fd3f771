import System
import Testing

@Suite struct SignatureTests {
  /// RFC 8032, section 7.1, tests 1 to 3: public key, message, signature.
  private static let vectors: [(key: String, message: String, signature: String)] = [
    (
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        + "d25bf5f0595bbe24655141438e7a100b"
    ),
    (
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
        + "387b2eaeb4302aeeb00d291612bb0c00"
    ),
    (
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
        + "4a7c15e9716ed28dc027beceea1ec40a"
    ),
  ]

  private static func bytes(_ hex: String) throws -> [UInt8] {
    try #require(Hex.decode(hex, count: hex.utf8.count / 2))
  }

  @Test(arguments: 0..<vectors.count) func signaturesOfTheRFCAreVerified(index: Int) throws {
    let vector = Self.vectors[index]
    let (key, message) = (try Self.bytes(vector.key), try Self.bytes(vector.message))
    var signature = try Self.bytes(vector.signature)
    #expect(Ed25519.verifies(signature, of: message, by: key))
    #expect(!Ed25519.verifies(signature, of: message + [0], by: key))
    #expect(!Ed25519.verifies(Array(signature.dropLast()), of: message, by: key))
    #expect(!Ed25519.verifies(signature, of: message, by: Array(key.dropLast())))
    signature[10] ^= 1
    #expect(!Ed25519.verifies(signature, of: message, by: key))
  }

  /// RFC 6979, appendix A.2.5: P-256 with SHA-256, and the message "sample".
  @Test func signaturesOnP256AreVerified() throws {
    let key = try Self.bytes(
      "3059301306072a8648ce3d020106082a8648ce3d0301070342000460fed4ba255a9d31c961eb74c6356d68c049b8"
        + "923b61fa6ce669622e60f29fb67903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299")
    var signature = try Self.bytes(
      "3046022100efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf37"
        + "16022100f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8")
    let message = Array("sample".utf8)
    #expect(ECDSAP256.verifies(signature, of: message, by: key))
    #expect(!ECDSAP256.verifies(signature, of: message + [0], by: key))
    #expect(!ECDSAP256.verifies(Array(signature.dropLast()), of: message, by: key))
    #expect(!ECDSAP256.verifies(signature, of: message, by: Array(key.dropLast())))
    #expect(!ECDSAP256.verifies([], of: message, by: []))
    // A point that isn't on the curve.
    var stray = key
    stray[90] ^= 1
    #expect(!ECDSAP256.verifies(signature, of: message, by: stray))
    signature[10] ^= 1
    #expect(!ECDSAP256.verifies(signature, of: message, by: key))
  }
}
