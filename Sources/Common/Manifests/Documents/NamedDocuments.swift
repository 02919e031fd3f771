import Values

extension AnswerExtras {
  /// Reads the versions of the policy and the prefetch config that an answer names, whatever else is wrong with it: a wrong
  /// manifest must not keep the kill switch from devices. Of a body that breaks off, what came before the break counts. All else is
  /// passed over, and costs no memory.
  package static func named(in body: [UInt8]) -> AnswerExtras {
    var named = NamedDocuments()
    var reader = JSONReader(body)
    // RFC 8259 §8.1: parsers MAY ignore a byte order mark.
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { reader.at = 3 }
    // Whatever has no end ends it.
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
    try reader.passMembers { (key, reader) throws(JSONError) in
      switch key {
      case "code":
        _ = try reader.peek()
        let start = reader.at
        try reader.pass()
        code = Int64(String(decoding: reader.bytes[start..<reader.at].prefix(32), as: UTF8.self))
      case "data" where try reader.peek() == UInt8(ascii: "{"): try readData(&reader)
      default: try reader.pass()
      }
    }
  }

  private mutating func readData(_ reader: inout JSONReader) throws(JSONError) {
    try reader.passMembers { (key, reader) throws(JSONError) in
      switch key {
      case "policy": policy = try Self.version(&reader)
      case "prefetch": prefetch = try Self.version(&reader)
      default: try reader.pass()
      }
    }
  }

  /// Reads a version; nil for another value, which is passed over.
  private static func version(_ reader: inout JSONReader) throws(JSONError) -> Int64? {
    guard try reader.peek() == UInt8(ascii: "\"") else {
      try reader.pass()
      return nil
    }
    return ManifestVersion(text: reader.text(of: try reader.passString()) ?? "")?.number
  }
}
