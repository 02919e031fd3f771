/// The content codings that a client accepts, with their weights (RFC 9110 §12.5.3).
package struct AcceptEncoding: Sendable, Equatable {
  /// The weight of each coding in thousandths; -1 if the field doesn't mention it.
  #if canImport(Darwin)
    // InlineArray needs iOS 26.
    private var weights = [Int16](repeating: -1, count: 4)
  #else
    private var weights = InlineArray<4, Int16>(repeating: -1)
  #endif
  private var others: Int16 = -1

  /// Parses a request's field. Without one, any coding may be sent, and identity is the safe one.
  package init(_ request: borrowing Request) {
    guard request.head.isRepeated(.acceptEncoding) else {
      if let value = request.field(.acceptEncoding) { take(value) }
      return
    }
    var lines = request.fieldLines
    while let line = lines.next(.acceptEncoding) { take(line) }
  }

  /// Parses one field value.
  package init(_ value: RawSpan) { take(value) }

  /// Returns the weight of a coding in thousandths; 0 means refused. Identity is accepted unless it is refused by name
  /// or by `*;q=0`.
  package func weight(_ coding: BodyCoding) -> Int {
    let named = weights[Int(coding.rawValue)]
    if named >= 0 { return Int(named) }
    if coding == .identity { return others == 0 ? 0 : 1 }
    return max(Int(others), 0)
  }

  /// Whether a coding is accepted.
  package func accepts(_ coding: BodyCoding) -> Bool { weight(coding) > 0 }

  /// Returns the coding with the highest weight among `available`, which is in the server's order of preference, or nil
  /// if none is accepted (406, or identity nevertheless).
  package func preferred(_ available: [BodyCoding]) -> BodyCoding? {
    var best: BodyCoding?
    for coding in available where weight(coding) > (best.map { weight($0) } ?? 0) { best = coding }
    return best
  }

  /// Whether both give each coding the same weight.
  package static func == (a: AcceptEncoding, b: AcceptEncoding) -> Bool {
    BodyCoding.allCases.allSatisfy { a.weight($0) == b.weight($0) }
  }

  private mutating func take(_ value: RawSpan) {
    var items = ListItems(value)
    while let item = items.next() {
      let end = item.firstIndex(of: 0x3B) ?? item.byteCount
      let name = item.extracting(0..<end).trimmed
      guard let weight = AcceptEncoding.weight(item.extracting(end..<item.byteCount)) else { continue }
      if name.equals("*") {
        others = weight
      } else if let coding = AcceptEncoding.coding(name) {
        weights[Int(coding.rawValue)] = weight
      }
    }
  }

  private static func coding(_ name: RawSpan) -> BodyCoding? {
    if name.equalsIgnoringCase("gzip") || name.equalsIgnoringCase("x-gzip") { return .gzip }
    if name.equalsIgnoringCase("zstd") { return .zstd }
    if name.equalsIgnoringCase("dcz") { return .dcz }
    return name.equalsIgnoringCase("identity") ? .identity : nil
  }

  /// Parses the weight in `;q=0.5`; 1000 if there is none, nil if it is malformed (RFC 9110 §12.4.2).
  private static func weight(_ parameters: RawSpan) -> Int16? {
    guard parameters.byteCount > 1 else { return 1000 }
    let text = parameters.extracting(1..<parameters.byteCount).trimmed
    guard text.byteCount >= 3, text[0].lowercased == 0x71, text[1] == 0x3D else { return nil }
    let whole = text[2] &- 0x30
    guard whole < 2, text.byteCount <= 7, text.byteCount == 3 || text[3] == 0x2E else { return nil }
    var thousandths = Int16(whole) * 1000
    var unit: Int16 = 100
    for index in 4..<max(text.byteCount, 4) {
      let digit = text[index] &- 0x30
      guard digit < 10 else { return nil }
      thousandths += Int16(digit) * unit
      unit /= 10
    }
    return thousandths <= 1000 ? thousandths : nil
  }
}

/// A content coding of answers (RFC 9110 §8.4.1, RFC 8878, RFC 9842).
package enum BodyCoding: UInt8, Sendable, CaseIterable {
  case identity, gzip, zstd, dcz

  /// The coding's name in Content-Encoding.
  package var name: StaticString {
    switch self {
    case .identity: "identity"
    case .gzip: "gzip"
    case .zstd: "zstd"
    case .dcz: "dcz"
    }
  }
}
