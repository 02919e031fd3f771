extension AnswerExtras {
  /// Reads the versions of the policy and the prefetch config that an answer names, whatever else is wrong with it: a wrong
  /// manifest must not keep the kill switch from devices. Of a body that breaks off, what came before the break counts. All else is
  /// passed over, and costs no memory.
  package static func named(in body: [UInt8]) -> AnswerExtras {
    var named = NamedDocuments()
    var reader = JSONReader(body)
    // Whatever can't be read ends it.
    try? named.readAnswer(&reader)
    return named.isGood ? AnswerExtras(policy: named.policy, prefetch: named.prefetch) : .none
  }
}

/// The members of an answer that name other documents.
private struct NamedDocuments {
  private var code: Int64?
  private(set) var policy: Int64?
  private(set) var prefetch: Int64?

  var isGood: Bool { code == 200 }

  mutating func readAnswer(_ reader: inout JSONReader) throws(JSONError) {
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "code": code = try reader.value(atMost: 1).integer
      case "data": try readData(&reader)
      default: try reader.skip()
      }
    }
  }

  private mutating func readData(_ reader: inout JSONReader) throws(JSONError) {
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "policy": policy = try Self.version(&reader)
      case "prefetch": prefetch = try Self.version(&reader)
      default: try reader.skip()
      }
    }
  }

  /// Reads a version; nil for another value, which is passed over.
  private static func version(_ reader: inout JSONReader) throws(JSONError) -> Int64? {
    guard try reader.peek() == UInt8(ascii: "\"") else {
      try reader.skip()
      return nil
    }
    return ManifestVersion(text: try reader.string())?.number
  }
}
