import System
import Testing
import Values

@testable import Trust

@Suite struct EnvelopeTests {
  /// The example of DSSE's own text (protocol.md, "Test Vectors").
  @Test func messagesAreThoseOfDSSE() {
    let message = Envelope.message(
      payloadType: "http://example.com/HelloWorld", payload: Array("hello world".utf8))
    #expect(
      String(decoding: message, as: UTF8.self) == "DSSEv1 29 http://example.com/HelloWorld 11 hello world")
  }

  @Test func aSignatureOfTheSameKeyIsReplaced() throws {
    let root = try CheckSample.root(1)
    let signed = try Symbolic.signed(root, by: [2, 1, 2])
    #expect(signed.envelope.signatures.map(\.key) == [1, 2].map { Symbolic.key($0).id }.sorted())
    #expect(
      signed.signers(among: [Symbolic.key(2).id], keys: root.keys, by: Symbolic.Verifier()) == [
        Symbolic.key(2).id
      ])
    #expect(try Signed<TrustRoot>(parsing: signed.envelope.bytes) == signed)
  }

  @Test func limitsHoldForWritersToo() throws {
    let bytes = [UInt8](repeating: 0x20, count: Envelope.payloadLimit + 1)
    #expect(throws: TrustFormError.size(bytes.count)) {
      try Envelope(payloadType: "", payload: bytes, signatures: [])
    }
    _ = try Envelope(payloadType: "", payload: Array(bytes.dropLast()), signatures: [])
    let signatures = (0...UInt8(Envelope.signatureLimit)).map {
      Envelope.Signature(key: Symbolic.key($0).id, signature: Symbolic.signature(by: $0, of: []))
    }
    #expect(throws: TrustFormError.member("signatures")) {
      try Envelope(payloadType: "", payload: [], signatures: signatures)
    }
    _ = try Envelope(payloadType: "", payload: [], signatures: Array(signatures.dropLast()))
    #expect(throws: TrustFormError.keyTwice(signatures[0].key)) {
      try Envelope(payloadType: "", payload: [], signatures: [signatures[0], signatures[0]])
    }
  }

  /// Every byte of an envelope matters: whichever is changed, the document isn't the same, or isn't signed.
  @Test func noByteCanBeChanged() throws {
    let sample = CheckSample()
    let head = try #require(try sample.offer().head).get()
    let bytes = head.envelope.bytes
    let root = try CheckSample.root(1)
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1
      guard let signed = try? Signed<TrustHead>(parsing: changed) else { continue }
      let signers = signed.signers(among: root.heads, keys: root.keys, by: Symbolic.Verifier())
      #expect(signers.isEmpty || signed == head, "\(index)")
    }
  }

  @Test func theMemberOfAnAnswerIsLimited() throws {
    let head = try #require(try CheckSample().offer().head).get()
    func read(_ count: Int, _ envelope: JSONValue) throws(JSONError) -> AnswerTrust {
      let json: JSONValue = [
        "head": envelope, "later": 1, "releases": .array(Array(repeating: 1, count: count)),
      ]
      var reader = JSONReader(json.canonical)
      return try AnswerTrust(reading: &reader)
    }
    let trust = try read(AnswerTrust.releaseLimit, head.envelope.json)
    #expect(trust.head == .success(head))
    #expect(trust.releases.count == AnswerTrust.releaseLimit)
    #expect(trust.releases.allSatisfy { $0 == .failure(.member("payloadType")) })
    #expect(throws: JSONError.self) { try read(AnswerTrust.releaseLimit + 1, head.envelope.json) }
    #expect(throws: JSONError.self) { try read(0, .array(Array(repeating: 0, count: Envelope.valueLimit))) }
    var reader = JSONReader(Array("{}".utf8))
    #expect(try AnswerTrust(reading: &reader).head == nil)
  }

  @Test func errorsHaveWords() {
    let errors: [TrustFormError] = [
      .size(70_000), .json(.ended), .notCanonical, .type("a"), .member("app"), .keyTwice(Symbolic.key(1).id),
    ]
    #expect(Set(errors.map(\.description)).count == errors.count)
  }
}
