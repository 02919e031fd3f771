import System
import Values

/// Parses the `data` of an answer.
struct AnswerReader {
  private var version: ManifestVersion?
  private var update: Bool?
  private var base: ManifestVersion?
  private var digest: SHA256?
  private var items: [ManifestItem]?
  private var changes: [ManifestChange]?
  private var deltas: [DeltaOffer] = []
  private var pack: PackOffer?
  private var first: PackOffer?
  private var interval: Int?
  private var policy: Int64?
  private var prefetch: Int64?
  private var reports: Int?
  private var samples: Int?
  private var rollback: ManifestVersion?
  private var edge: Int?
  private var rollout: RolloutRule?
  private var root: Int64?
  private var trust: [UInt8]?

  init(reading reader: inout JSONReader) throws(JSONError) {
    var data = AnswerReader()
    try reader.members { (key, reader) throws(JSONError) in try data.read(key, &reader) }
    self = data
  }

  private init() {}

  private mutating func read(_ key: String, _ reader: inout JSONReader) throws(JSONError) {
    switch key {
    case "version": version = try Self.version(key, &reader)
    case "update":
      guard let value = try reader.value(atMost: 1).bool else { throw .member(key) }
      update = value
    case "base": base = try Self.version(key, &reader)
    case "digest":
      guard let value = try reader.value(atMost: 1).string.flatMap({ SHA256(hex: $0) }) else {
        throw .member(key)
      }
      digest = value
    case "resourcemap":
      items = try Self.byURL(&reader) { (url, json) throws(JSONError) in
        ManifestItem(url: url, entry: try Entry(json: json))
      }.sortedByKey(\.url.text)
    case "patch":
      changes = try Self.byURL(&reader) { ManifestChange(url: $0, value: $1) }.sortedByKey(\.url.text)
    case "deltas": deltas = try Self.byURL(&reader, DeltaOffer.init(url:json:)).sortedByKey(\.url.text)
    case "pack":
      // Report any fault as the member `pack`, since an answer without a pack may be valid.
      guard let offer = try? PackOffer(json: reader.value(atMost: DocumentBudget.entryValues)) else {
        throw .member(key)
      }
      pack = offer
    case "first": first = try Self.first(&reader)
    case "edge": edge = try Self.edge(key, &reader)
    case "interval": interval = try Self.hint(key, AnswerExtras.intervals, &reader)
    case "policy": policy = try Self.version(key, &reader).number
    case "prefetch": prefetch = try Self.version(key, &reader).number
    case "reports": reports = try Self.hint(key, 0...AnswerExtras.allReports, &reader)
    case "samples": samples = try Self.samples(&reader)
    case "rollback": rollback = try Self.version(key, &reader)
    case "rollout": rollout = try RolloutRule(reading: reader.value(atMost: DocumentBudget.entryValues))
    case "root": root = try Self.version(key, &reader).number
    case "trust":
      // What it says is for the check of devices that have a root.
      _ = try reader.peek()
      let start = reader.at
      try reader.skip()
      trust = Array(reader.bytes[start..<reader.at])
    default: try reader.skip()
    }
  }

  /// Reads the member `first`: whatever is wrong with it, the answer is as good without it.
  private static func first(_ reader: inout JSONReader) throws(JSONError) -> PackOffer? {
    _ = try reader.peek()
    let start = reader.at
    try reader.skip()
    guard reader.at - start <= PackOffer.longest else { return nil }
    guard let json = try? JSONValue.parse(Array(reader.bytes[start..<reader.at])) else { return nil }
    return try? PackOffer(json: json)
  }

  /// Reads the member `edge`: anything but a number leaves it out.
  private static func edge(_ key: String, _ reader: inout JSONReader) throws(JSONError) -> Int? {
    switch try reader.peek() {
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return try hint(key, AnswerExtras.edges, &reader)
    default:
      try reader.skip()
      return nil
    }
  }

  /// Reads the member `samples`: only 0 says something.
  private static func samples(_ reader: inout JSONReader) throws(JSONError) -> Int? {
    guard try reader.peek() == UInt8(ascii: "0") else {
      try reader.skip()
      return nil
    }
    return try reader.value(atMost: 1).integer == 0 ? 0 : nil
  }

  private static func version(
    _ key: String, _ reader: inout JSONReader
  ) throws(JSONError) -> ManifestVersion {
    guard let version = try reader.value(atMost: 1).string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member(key)
    }
    return version
  }

  /// Reads a hint: any number outside the allowed range is clamped to it.
  private static func hint(
    _ key: String, _ allowed: ClosedRange<Int>, _ reader: inout JSONReader
  ) throws(JSONError) -> Int {
    guard case .number(let text) = try reader.value(atMost: 1), let number = Double(text) else {
      throw .member(key)
    }
    return Int(min(max(number, Double(allowed.lowerBound)), Double(allowed.upperBound)))
  }

  /// Reads an object whose keys are URLs, each as `ResourceURL` writes it.
  private static func byURL<Element>(
    _ reader: inout JSONReader, _ make: (ResourceURL, JSONValue) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    var left = DocumentBudget.entries
    return try reader.object { (key, reader) throws(JSONError) in
      guard left > 0 else { throw .tooMany(at: reader.at) }
      left -= 1
      guard let url = try? ResourceURL(key), UTF8Order.areEqual(url.text, key) else { throw .member(key) }
      return try make(url, reader.value(atMost: DocumentBudget.entryValues))
    }
  }

  func answer() throws(JSONError) -> ConfigureAnswer {
    guard let version else { throw .member("version") }
    guard let update else { throw .member("update") }
    let extras = AnswerExtras(
      edge: edge, interval: interval, policy: policy, prefetch: prefetch, reports: reports,
      samples: samples, rollback: rollback, rollout: rollout, root: root)
    if !update { return .upToDate(version, extras) }
    guard let digest else { throw .member("digest") }
    if let pack {
      guard items == nil, changes == nil, let base, base < version else { throw .member("pack") }
      return .pack(
        PackAnswer(base: base, version: version, digest: digest, pack: pack, extras: extras, trust: trust))
    }
    switch (items, changes) {
    case (let items?, nil):
      return .whole(
        WholeAnswer(
          version: version, digest: digest, items: items, base: base, deltas: deltas, first: first,
          extras: extras, trust: trust))
    case (nil, let changes?):
      guard let base else { throw .member("base") }
      return .patch(
        PatchAnswer(
          base: base, version: version, digest: digest, changes: changes, deltas: deltas, extras: extras,
          trust: trust))
    case (_?, _?): throw .member("patch")
    case (nil, nil): throw .member("resourcemap")
    }
  }
}
