// A fuzz target for what a device with a root reads before anything is verified. Built against Trust; see run.sh.
//
// The first byte says what the rest is: a payload of one of the four documents, an envelope, a member `trust` of an answer, a
// signature in DER, or a key. Beside what the sanitizer finds, it traps where something isn't the same when it is written and read
// again, a limit is exceeded, or a check of it, by a verifier that believes everything, lets anything fall that mustn't.

import Manifests
import System
import Values

@testable import Trust

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 1 else { return 0 }
  let input = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch start[0] & 7 {
  case 0: readPayload(TrustRoot.self, input)
  case 1: readPayload(ReleaseStatement.self, input)
  case 2: readPayload(PrefetchStatement.self, input)
  case 3: readPayload(TrustHead.self, input)
  case 4: readEnvelope(input)
  case 5: readAnswer(input)
  case 6: readSignature(input)
  default: readKey(input)
  }
  return 0
}

/// Believes every signature, so that only the keys' ids say who has signed.
private struct Believer: SignatureVerifier {
  func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool { true }
}

private func key(_ byte: UInt8) -> TrustKey {
  guard let key = TrustKey(spki: TrustKey.prefix + [UInt8](repeating: byte, count: 64)) else {
    fatalError("that should be a key")
  }
  return key
}

/// A root whose keys the seeds have: 01… signs roots, 02… everything else.
private let builtIn: Signed<TrustRoot> = {
  let (root, online) = (key(1), key(2))
  do {
    let json: JSONValue = [
      "app": "shop", "number": "1", "heads": [.string(online.id.text)], "prefetch": [.string(online.id.text)],
      "keys": .object(
        JSONObject([root, online].map { JSONObject.Member(key: $0.id.text, value: .string($0.base64)) })),
      "releases": [
        [
          "bundles": ["*"], "channels": ["*"], "keys": [.string(online.id.text)], "prefixes": ["*"],
          "threshold": 1,
        ]
      ], "roots": ["keys": [.string(root.id.text)], "threshold": 1],
    ]
    return try Signed(TrustRoot(json: json))
  } catch {
    fatalError("the root can't be read: \(error)")
  }
}()

private let place: TrustPlace = {
  guard let channel = try? ChannelName("online") else { fatalError("no channel") }
  return TrustPlace(app: builtIn.document.app, channel: channel)
}()

private func readPayload<Document: TrustDocument>(_ kind: Document.Type, _ input: [UInt8]) {
  guard let json = try? JSONValue.parse(input), let document = try? Document(json: json) else { return }
  precondition((try? Document(json: document.json)) == document, "not the same")
  // Only a canonical payload is a document, however it is signed.
  let envelope = try? Envelope(payloadType: Document.payloadType, payload: input, signatures: [])
  if let envelope, let signed = try? Signed<Document>(envelope) {
    precondition(json.canonical == input, "not canonical")
    precondition((try? Signed<Document>(parsing: envelope.bytes)) == signed, "another document")
  }
  if let root = document as? TrustRoot {
    precondition(!root.heads.isEmpty || root.isOff, "no head key")
    precondition(root.roots.threshold <= root.roots.keys.count, "a threshold that can't be met")
  }
}

private func readEnvelope(_ input: [UInt8]) {
  guard let envelope = try? Envelope(parsing: input) else { return }
  precondition(envelope.payload.count <= Envelope.payloadLimit, "a payload over the limit")
  precondition(Set(envelope.signatures.map(\.key)).count == envelope.signatures.count, "a key twice")
  precondition(envelope.bytes.count <= Envelope.limit, "an envelope that can't be sent")
  precondition((try? Envelope(parsing: envelope.bytes)) == envelope, "not the same")
  let root = Received<TrustRoot>(parsing: input)
  judge(TrustOffer(roots: [root]))
  judge(TrustOffer(head: Received(parsing: input)))
  judge(
    TrustOffer(
      prefetch: TrustOffer.Prefetch(version: 1, digest: SHA256.of([]), statement: Received(parsing: input))))
}

private let items: [ManifestItem] = {
  let text =
    #"{"bundle":"home","ctype":"text/html","download":"https://cdn.test/a","md5":"\#(String(repeating: "0", count: 32))","#
    + #""sha256":"\#(String(repeating: "0", count: 64))","size":1,"version":"1"}"#
  do {
    return [
      ManifestItem(url: try ResourceURL("https://m.test/a"), entry: try Entry(parsing: Array(text.utf8)))
    ]
  } catch {
    fatalError("the entry can't be read: \(error)")
  }
}()

private func readAnswer(_ input: [UInt8]) {
  var reader = JSONReader(input)
  guard let answer = try? AnswerTrust(reading: &reader) else { return }
  precondition(answer.releases.count <= AnswerTrust.releaseLimit, "too many statements")
  var offer = TrustOffer(head: answer.head, releases: answer.releases)
  judge(offer)
  if let head = try? answer.head?.get().document {
    offer.manifest = TrustOffer.Manifest(version: head.version, digest: head.digest, items: items)
    judge(offer)
  }
}

/// Checks an offer: what is stored doesn't fall, and the same offer again says the same.
private func judge(_ offer: TrustOffer) {
  guard let now = TrustTime(1_800_000_000_000) else { return }
  let check = TrustCheck(place: place, verifier: Believer())
  let before = TrustState(builtIn: builtIn)
  let verdict = check.check(offer, state: before, now: now)
  precondition(verdict.failure == nil || verdict.releases == nil, "something is taken after a failure")
  precondition(verdict.state.root.number >= before.root.number, "the root fell")
  var after = verdict.state
  if let releases = verdict.releases { after.take(releases) }
  let floors = after.floors
  after.recordProof(in: place.channel)
  precondition(floors.allSatisfy { after.floor(of: $0.key) >= $0.value }, "a floor fell")
  guard offer.roots.isEmpty else { return }
  let again = check.check(offer, state: verdict.state, now: now)
  precondition(again.failure == verdict.failure && again.state == verdict.state, "the second time differs")
}

private func readSignature(_ input: [UInt8]) {
  guard let signature = P256Signature(der: input) else { return }
  precondition(signature.raw.count == 64 && signature.der == input, "not the same")
  // The only way to write these numbers.
  func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    let digits = Array(bytes.drop { $0 == 0 })
    let number = (digits.first ?? 0) >= 0x80 ? [0] + digits : digits
    return [2, UInt8(number.count)] + number
  }
  let body = number(signature.raw[..<32]) + number(signature.raw[32...])
  precondition([0x30, UInt8(body.count)] + body == input, "another form of the same numbers")
}

private func readKey(_ input: [UInt8]) {
  if let key = TrustKey(spki: input) { precondition(key.spki == input, "another key") }
  if let key = TrustKey(base64: String(decoding: input, as: UTF8.self)) {
    precondition(Array(key.base64.utf8) == input, "another form of a key")
    precondition(
      ECDSAP256.verifies([0x30, 6, 2, 1, 1, 2, 1, 1], of: [], by: key.spki) == false, "a signature of nothing"
    )
  }
}
