/// Finds elements in the flat XML that S3 answers with.
enum XMLText {
  /// The text of the first element with this name, entities decoded.
  static func first(_ name: String, in text: String) -> String? {
    guard let open = text.firstRange(of: "<\(name)>"),
      let close = text[open.upperBound...].firstRange(of: "</\(name)>")
    else { return nil }
    return decoded(text[open.upperBound..<close.lowerBound])
  }

  /// What stands between each pair of tags with this name, as it is.
  static func all(_ name: String, in text: String) -> [String] {
    text.split(separator: "<\(name)>").dropFirst().map { part in
      String(part[..<(part.firstRange(of: "</\(name)>")?.lowerBound ?? part.endIndex)])
    }
  }

  private static func decoded(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: "&")) else { return String(text) }
    var result = String(text)
    for (entity, character) in [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"),
      ("&amp;", "&"),
    ] {
      result = result.replacing(entity, with: character)
    }
    return result
  }
}
