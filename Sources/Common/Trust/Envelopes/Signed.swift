import System
import Values

/// A document that is sent in an envelope.
package protocol TrustDocument: Hashable, Sendable {
  /// The payload type of its envelopes.
  static var payloadType: String { get }

  /// Reads the document; ignores members that it doesn't know.
  init(json: JSONValue) throws(TrustFormError)

  /// The document as JSON, with only the members that this version knows.
  var json: JSONValue { get }
}

/// A document, and the signatures that came with it. Nothing is known of these yet: see `signers(among:keys:by:)`.
package struct Signed<Document: TrustDocument>: Hashable, Sendable {
  /// What the payload says.
  package let document: Document
  /// The payload with its signatures.
  package let envelope: Envelope

  /// Reads the payload of an envelope.
  ///
  /// - Throws: `type`, `json`, `notCanonical`, or what is wrong with the document.
  package init(_ envelope: Envelope) throws(TrustFormError) {
    guard envelope.payloadType == Document.payloadType else { throw .type(envelope.payloadType) }
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue.parse(envelope.payload)
    } catch {
      throw .json(error)
    }
    guard json.canonical == envelope.payload else { throw .notCanonical }
    document = try Document(json: json)
    self.envelope = envelope
  }

  /// Parses an envelope and its payload.
  package init(parsing bytes: [UInt8]) throws(TrustFormError) { try self.init(Envelope(parsing: bytes)) }

  /// Reads an envelope that is part of another document, and its payload.
  package init(json: JSONValue) throws(TrustFormError) { try self.init(Envelope(json: json)) }

  /// Puts a document into an envelope.
  ///
  /// - Throws: `size`, `keyTwice`, or `member("signatures")`, as `Envelope.init` does.
  package init(_ document: Document, signatures: [Envelope.Signature] = []) throws(TrustFormError) {
    self.document = document
    envelope = try Envelope(
      payloadType: Document.payloadType, payload: document.json.canonical, signatures: signatures)
  }

  /// Returns the same document with one more signature. Another one by the same key is replaced.
  package func adding(_ signature: Envelope.Signature) throws(TrustFormError) -> Signed {
    let others = envelope.signatures.filter { $0.key != signature.key }
    return try Signed(
      Envelope(
        payloadType: envelope.payloadType, payload: envelope.payload, signatures: others + [signature]))
  }

  /// The SHA-256 of the payload.
  package var digest: SHA256 { SHA256.of(envelope.payload) }

  /// Returns which of `ids` have signed the document, ordered. Signatures of other keys are ignored, and so are
  /// those that `verifier` refuses.
  package func signers(
    among ids: some Collection<KeyID>, keys: [KeyID: TrustKey], by verifier: some SignatureVerifier
  ) -> [KeyID] {
    let message = envelope.message
    return envelope.signatures.compactMap { signature in
      guard ids.contains(signature.key), let key = keys[signature.key],
        verifier.verifies(signature.signature, of: message, by: key)
      else { return nil }
      return signature.key
    }
  }
}

/// A document that was received, or why it can't be read.
package typealias Received<Document: TrustDocument> = Result<Signed<Document>, TrustFormError>

extension Result where Failure == TrustFormError {
  /// Parses what was received.
  package init<Document: TrustDocument>(parsing bytes: [UInt8]) where Success == Signed<Document> {
    do throws(TrustFormError) {
      self = .success(try Signed(parsing: bytes))
    } catch {
      self = .failure(error)
    }
  }

  /// Reads what was received as part of another document.
  package init<Document: TrustDocument>(json: JSONValue) where Success == Signed<Document> {
    do throws(TrustFormError) {
      self = .success(try Signed(json: json))
    } catch {
      self = .failure(error)
    }
  }
}
