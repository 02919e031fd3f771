import Values

/// Why bytes aren't a signed document of the expected type.
package enum TrustFormError: Error, Hashable, Sendable {
  /// The envelope or its payload has this many bytes, which is more than allowed.
  case size(Int)
  /// The envelope or its payload isn't JSON.
  case json(JSONError)
  /// The payload is JSON, but not in its canonical form.
  case notCanonical
  /// The envelope has a payload of another type.
  case type(String)
  /// A member of the envelope or the payload is missing, or isn't as docs/protocol.md §14 says.
  case member(String)
  /// Two signatures name the same key.
  case keyTwice(KeyID)
}

extension TrustFormError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .size(let count):
      "a signed document of \(count) bytes is too large; a payload has at most \(Envelope.payloadLimit)"
    case .json(let error): "it isn't JSON: \(error)"
    case .notCanonical: "the signed payload isn't canonical JSON"
    case .type(let type): "the payload is \(Quoted.text(type)), which is another type of document"
    case .member(let name): "the member \(name) is missing or invalid"
    case .keyTwice(let key): "there are two signatures of the key \(key)"
    }
  }
}
