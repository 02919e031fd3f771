import System
import Testing

@Suite struct DigestTests {
  /// FIPS 180-4 and RFC 1321, appendix A.5.
  @Test(arguments: [
    (
      "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "d41d8cd98f00b204e9800998ecf8427e"
    ),
    (
      "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "900150983cd24fb0d6963f7d28e17f72"
    ),
  ])
  func knownDigests(text: String, sha256: String, md5: String) {
    var hasher = FileHasher()
    for byte in text.utf8 { hasher.update([byte].span.bytes) }
    let digest = hasher.finish()
    #expect(digest.sha256.hex == sha256)
    #expect(digest.md5.hex == md5)
    #expect(digest.size == Int64(text.utf8.count))
    #expect(SHA256.of(Array(text.utf8)) == digest.sha256)
    #expect(MD5.of(Array(text.utf8)) == digest.md5)
    #expect(SHA256(hex: sha256) == digest.sha256)
  }

  @Test(arguments: [
    "", "ab", String(repeating: "A", count: 64), String(repeating: "0", count: 63) + "g",
    String(repeating: "0", count: 65),
  ])
  func invalidDigestsAreRefused(text: String) {
    #expect(SHA256(hex: text) == nil)
  }

  @Test func digestsSortLikeTheirHex() throws {
    let digests = (0..<200).map { SHA256.of([UInt8($0)]) }
    #expect(digests.sorted().map(\.hex) == digests.map(\.hex).sorted())
  }

  /// A client can choose the digests that it claims: similar ones must not collide in a hash table.
  @Test(arguments: 0..<32) func digestsThatDifferInOneByteHashDifferently(index: Int) throws {
    func sha256(_ byte: UInt8) throws -> SHA256 {
      var bytes = [UInt8](repeating: 7, count: 32)
      bytes[index] = byte
      let digest = SHA256(bytes: bytes.span.bytes)
      return try #require(digest)
    }
    func md5(_ byte: UInt8) throws -> MD5 {
      var bytes = [UInt8](repeating: 7, count: 16)
      bytes[index % 16] = byte
      let digest = MD5(bytes: bytes.span.bytes)
      return try #require(digest)
    }
    #expect(try sha256(1).hashValue != sha256(2).hashValue && sha256(1).hashValue == sha256(1).hashValue)
    #expect(try md5(1).hashValue != md5(2).hashValue && md5(1).hashValue == md5(1).hashValue)
  }

  @Test func secretsAreCompared() {
    #expect(Secrets.equal([1, 2, 3], [1, 2, 3]))
    #expect(!Secrets.equal([1, 2, 3], [1, 2, 4]))
    #expect(!Secrets.equal([1, 2, 3], [1, 2]))
    #expect(Secrets.random(32) != Secrets.random(32))
  }
}
