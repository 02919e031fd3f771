import System
import Testing

@testable import Mirror

@Suite struct SignerTests {
  /// "GET Object" and "GET Bucket (List Objects)" of Amazon's examples in "Authenticating Requests: Using the Authorization Header (AWS
  /// Signature Version 4)".
  @Test func signsAmazonsExamples() {
    let signer = S3Signer(
      accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      sessionToken: nil,
      region: "us-east-1")
    let empty = SHA256.of([]).hex
    let get = S3Signer.Request(
      method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/test.txt",
      fields: [("Range", "bytes=0-9")],
      payloadHash: empty)
    let list = S3Signer.Request(
      method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/",
      query: [("prefix", "J"), ("max-keys", "2")],
      payloadHash: empty)
    let time: Int64 = 1_369_353_600
    #expect(
      signer.fields(for: get, at: time).last?.value.hasSuffix(
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") == true)
    #expect(
      signer.fields(for: list, at: time).last?.value.hasSuffix(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") == true)
  }

  @Test func hmacMatchesRFC4231() {
    // RFC 4231, test cases 2 and 6.
    #expect(
      Hex.encode(HMAC.sha256(Array("Jefe".utf8), Array("what do ya want for nothing?".utf8)).span.bytes)
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    let key = [UInt8](repeating: 0xaa, count: 131)
    let message = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
    #expect(
      Hex.encode(HMAC.sha256(key, message).span.bytes)
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test func parsesListings() {
    let text = "<R><Contents><Key>a&amp;b</Key><Size>3</Size></Contents><Contents><Key>c</Key></Contents></R>"
    #expect(XMLText.all("Contents", in: text).map { XMLText.first("Key", in: $0) } == ["a&b", "c"])
    #expect(XMLText.first("Size", in: text) == "3" && XMLText.first("None", in: text) == nil)
  }
}
