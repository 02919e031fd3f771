import System
import Values

/// A payload with its signatures: an envelope of DSSE v1 (Dead Simple Signing Envelope), in the form that
/// docs/protocol.md §14 narrows it to.
package struct Envelope: Hashable, Sendable {
  /// A signature, and the key that is said to have made it.
  package struct Signature: Hashable, Sendable {
    /// The key's id.
    package let key: KeyID
    /// The signature of the envelope's message.
    package let signature: P256Signature

    package init(key: KeyID, signature: P256Signature) {
      self.key = key
      self.signature = signature
    }
  }

  /// The maximum size of a payload, in bytes.
  package static let payloadLimit = 65_536
  /// The maximum size of an envelope as JSON, in bytes.
  package static let limit = 98_304
  /// The maximum number of signatures.
  package static let signatureLimit = 16
  /// The maximum number of values in an envelope: itself, its members, and what they contain.
  static let valueLimit = 256

  /// The type of the payload, such as `application/vnd.xcache.root+json`.
  package let payloadType: String
  /// What is signed.
  package let payload: [UInt8]
  /// The signatures, each of another key.
  package let signatures: [Signature]

  /// Creates an envelope, whose signatures are ordered by key.
  ///
  /// - Throws: `size`, `keyTwice`, or `member("signatures")`, if there are too many.
  package init(payloadType: String, payload: [UInt8], signatures: [Signature]) throws(TrustFormError) {
    guard payload.count <= Self.payloadLimit else { throw .size(payload.count) }
    guard signatures.count <= Self.signatureLimit else { throw .member("signatures") }
    var seen: Set<KeyID> = []
    for signature in signatures where !seen.insert(signature.key).inserted { throw .keyTwice(signature.key) }
    self.payloadType = payloadType
    self.payload = payload
    self.signatures = signatures.sorted { $0.key < $1.key }
  }

  /// The bytes that are signed: DSSE's pre-authentication encoding of type and payload.
  package var message: [UInt8] { Self.message(payloadType: payloadType, payload: payload) }

  /// `PAE(type, body) = "DSSEv1" + SP + LEN(type) + SP + type + SP + LEN(body) + SP + body`, with lengths in decimal
  /// digits.
  package static func message(payloadType: String, payload: [UInt8]) -> [UInt8] {
    Array("DSSEv1 \(payloadType.utf8.count) \(payloadType) \(payload.count) ".utf8) + payload
  }
}

extension Envelope {
  /// Parses an envelope. Members that it doesn't know are ignored.
  package init(parsing bytes: [UInt8]) throws(TrustFormError) {
    guard bytes.count <= Self.limit else { throw .size(bytes.count) }
    var reader = JSONReader(bytes, values: Self.valueLimit)
    let json: JSONValue
    do throws(JSONError) {
      json = try reader.value()
      try reader.end()
    } catch {
      throw .json(error)
    }
    try self.init(json: json)
  }

  /// Reads an envelope that is part of another document.
  package init(json: JSONValue) throws(TrustFormError) {
    guard json.object != nil, let type = json["payloadType"]?.string else { throw .member("payloadType") }
    guard let text = json["payload"]?.string else { throw .member("payload") }
    guard text.utf8.count <= Self.limit else { throw .size(text.utf8.count) }
    guard let payload = Base64.decode(text) else { throw .member("payload") }
    guard let values = json["signatures"]?.array, values.count <= Self.signatureLimit else {
      throw .member("signatures")
    }
    var signatures: [Signature] = []
    for value in values { signatures.append(try Signature(json: value)) }
    try self.init(payloadType: type, payload: payload, signatures: signatures)
  }

  /// The envelope as JSON.
  package var json: JSONValue {
    [
      "payload": .string(Base64.encode(payload)), "payloadType": .string(payloadType),
      "signatures": .array(
        signatures.map { ["keyid": .string($0.key.text), "sig": .string(Base64.encode($0.signature.der))] }),
    ]
  }

  /// The envelope as it is sent: canonical JSON.
  package var bytes: [UInt8] { json.canonical }
}

extension Envelope.Signature {
  fileprivate init(json: JSONValue) throws(TrustFormError) {
    guard let key = json["keyid"]?.string.flatMap({ KeyID(text: $0) }) else { throw .member("keyid") }
    guard let text = json["sig"]?.string, text.utf8.count <= 2 * P256Signature.limit,
      let signature = Base64.decode(text).flatMap({ P256Signature(der: $0) })
    else { throw .member("sig") }
    self.init(key: key, signature: signature)
  }
}
