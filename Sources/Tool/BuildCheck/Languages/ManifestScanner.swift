import Values

/// Finds the references of a web app manifest (W3C Web Application Manifest).
enum ManifestScanner {
  static func references(_ json: JSONValue, _ bytes: [UInt8]) -> [Reference] {
    var references: [Reference] = []
    func add(_ kind: Reference.Kind, _ value: JSONValue?) {
      guard let text = value?.string else { return }
      references.append(Reference(kind: kind, text: text, at: offset(of: text, in: bytes)))
    }
    func images(_ value: JSONValue?) {
      for image in value?.array ?? [] { add(.appIcon, image["src"]) }
    }
    images(json["icons"])
    images(json["screenshots"])
    for shortcut in json["shortcuts"]?.array ?? [] {
      images(shortcut["icons"])
      add(.appPage, shortcut["url"])
    }
    add(.appPage, json["start_url"])
    return references
  }

  /// Returns the offset of the text in its usual spelling, or 0.
  private static func offset(of text: String, in bytes: [UInt8]) -> Int {
    let wanted = [UInt8(ascii: "\"")] + Array(text.utf8) + [UInt8(ascii: "\"")]
    guard bytes.count >= wanted.count else { return 0 }
    return (0...(bytes.count - wanted.count)).first {
      bytes[$0] == wanted[0]
        && bytes[$0..<($0 + wanted.count)].elementsEqual(wanted)
    } ?? 0
  }
}
