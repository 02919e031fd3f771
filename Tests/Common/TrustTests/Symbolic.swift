import Manifests
import System
import Trust
import Values

/// Keys and signatures that cost nothing: a signature names its key, and what it signs by a hash of this process.
enum Symbolic {
  /// Returns the key with this number.
  static func key(_ number: UInt8) -> TrustKey {
    let prefix: [UInt8] = [
      0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
      0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]
    guard let key = TrustKey(spki: prefix + Array(repeating: number, count: 64)) else {
      fatalError("a key has 91 bytes")
    }
    return key
  }

  /// Returns the signature of a message by the key with this number.
  static func signature(by number: UInt8, of message: [UInt8]) -> P256Signature {
    let hash = withUnsafeBytes(of: message.hashValue) { Array($0) }
    guard let signature = P256Signature(der: [0x30, 15, 2, 2, 1, number, 2, 9, 1] + hash) else {
      fatalError("it is DER")
    }
    return signature
  }

  /// Verifies these signatures.
  struct Verifier: SignatureVerifier {
    func verifies(_ signature: P256Signature, of message: [UInt8], by key: TrustKey) -> Bool {
      signature == Symbolic.signature(by: key.spki[TrustKey.byteCount - 1], of: message)
    }
  }

  /// Returns a document with signatures of these keys.
  ///
  /// - Parameter claim: the key that each is said to be of, if that isn't true.
  static func signed<Document: TrustDocument>(
    _ document: Document, by keys: [UInt8], as claim: UInt8? = nil
  ) throws -> Signed<Document> {
    try keys.reduce(Signed(document)) { try Self.signed($0, by: $1, as: claim) }
  }

  /// Returns a document with one more signature.
  static func signed<Document>(
    _ signed: Signed<Document>, by number: UInt8, as claim: UInt8? = nil
  ) throws -> Signed<Document> {
    let signature = Self.signature(by: number, of: signed.envelope.message)
    return try signed.adding(Envelope.Signature(key: Self.key(claim ?? number).id, signature: signature))
  }

  /// Returns keys of which `threshold` must sign.
  static func group(_ numbers: UInt8..., threshold: Int = 1) -> KeyGroup {
    guard let group = KeyGroup(Set(numbers.map { key($0).id }), threshold: threshold) else {
      fatalError("a group of keys that can't be")
    }
    return group
  }
}

/// Entries of which only the text differs.
enum Pages {
  static func item(_ url: String, _ text: String, bundle: String?) throws -> ManifestItem {
    let bytes = Array(text.utf8)
    var others = JSONObject()
    if let bundle { others["bundle"] = .string(bundle) }
    let entry = Entry(
      ctype: "text/html", download: "https://cdn.example.com/\(text)", md5: MD5.of(bytes.span.bytes),
      sha256: SHA256.of(bytes), size: Int64(bytes.count), version: 1, others: others)
    return ManifestItem(url: try ResourceURL(url), entry: entry)
  }

  /// Returns the digest of what a release statement signs of a bundle.
  static func content(_ items: [ManifestItem], of bundle: String) -> SHA256 {
    var content = BundleContent()
    for item in items where item.entry.others["bundle"] == .string(bundle) { content.append(item) }
    return content.digest()
  }
}
