/// An answer as a client sees it.
struct TestAnswer {
  let status: Int
  let fields: [(name: String, value: String)]
  let body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }
  var closes: Bool { self["connection"] == "close" }

  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// Takes an answer from the front of `bytes`; nil, and nothing taken, when it isn't complete.
  init?(_ bytes: inout [UInt8], toHead: Bool) {
    guard let end = TestAnswer.headEnd(bytes) else { return nil }
    let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).split(separator: "\r\n")
    guard let first = lines.first, let status = Int(first.split(separator: " ")[1]) else { return nil }
    self.status = status
    fields = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].dropFirst()) : "")
    }
    let hasBody = !toHead && status != 304 && status != 204 && status >= 200
    let length = hasBody ? fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0 : 0
    guard bytes.count >= end + length else { return nil }
    body = [UInt8](bytes[end..<(end + length)])
    bytes.removeSubrange(..<(end + length))
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    var index = 3
    while index < bytes.count {
      if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A { return index + 1 }
      index += 1
    }
    return nil
  }
}
