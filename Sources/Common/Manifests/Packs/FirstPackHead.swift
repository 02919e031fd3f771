import System

/// The head of a first pack (docs/protocol.md, "First packs"), with the list of its files.
package struct FirstPackHead: Hashable, Sendable {
  /// "XPF" and the number of the format.
  package static let magic = Array("XPF1".utf8)
  /// The maximum number of files.
  package static let maxFiles = 1 << 20
  /// The maximum bytes of the list for each file.
  static let maxItemBytes = 40
  /// The maximum length in bytes of what comes before the list.
  static let longestFront = magic.count + 3 * Varint.longest
  /// The logarithm of the largest window of the frame that follows.
  package static let windowLog = 23

  /// The version that the pack was made for.
  package let version: ManifestVersion
  /// The files, in the order of their bytes.
  package let items: [FirstPackItem]
  /// The number of bytes that the frame decodes to.
  package let total: Int64

  /// - Throws: if there is no item or are too many, two of them are equal, or the sum of their sizes is above 2^53−1.
  package init(version: ManifestVersion, items: [FirstPackItem]) throws(PackFault) {
    guard version > .none else { throw .damaged("it is for no version") }
    guard (1...Self.maxFiles).contains(items.count) else {
      throw .damaged("it has \(items.count) files, of 1 to \(Self.maxFiles)")
    }
    var total: Int64 = 0
    for item in items {
      // Both are at most 2^53−1.
      total += item.size
      guard item.size >= 0, total <= Varint.largest else {
        throw .damaged("its files have above 2^53−1 bytes")
      }
    }
    guard Self.areDistinct(items) else { throw .damaged("it has a file twice") }
    self.version = version
    self.items = items
    self.total = total
  }

  /// Compares neighbours in order: a set of a million items would take several times their memory.
  private static func areDistinct(_ items: [FirstPackItem]) -> Bool {
    let order = items.indices.map { Int32($0) }.sorted { items[Int($0)] < items[Int($1)] }
    return zip(order, order.dropFirst()).allSatisfy { items[Int($0)] != items[Int($1)] }
  }

  /// The head and the list, as they come before the frame.
  package var bytes: [UInt8] {
    var list: [UInt8] = []
    for item in items { item.append(to: &list) }
    var out = Self.magic
    Varint.append(version.number, to: &out)
    Varint.append(items.count, to: &out)
    Varint.append(list.count, to: &out)
    return out + list
  }
}

/// A file of a first pack: the first 16 bytes of its SHA-256, and its size. A device looks up the entries of its manifest by
/// it.
package struct FirstPackItem: Hashable, Comparable, Sendable {
  /// How many bytes of the digest there are.
  static let prefixCount = 16
  /// The minimum length in bytes.
  static let shortest = prefixCount + 1

  private let high: UInt64
  private let low: UInt64
  /// The size of the file in bytes, from 0 to 2^53−1.
  package let size: Int64

  package init(_ sha256: SHA256, size: Int64) {
    self.init(prefix: sha256.bytes[...], size: size)
  }

  /// - Parameter prefix: at least the first 16 bytes of the digest.
  init(prefix: ArraySlice<UInt8>, size: Int64) {
    func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    high = word(prefix.prefix(8))
    low = word(prefix.dropFirst(8).prefix(8))
    self.size = size
  }

  func append(to out: inout [UInt8]) {
    for word in [high, low] {
      for shift in stride(from: 56, through: 0, by: -8) {
        out.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    Varint.append(size, to: &out)
  }

  package static func < (a: FirstPackItem, b: FirstPackItem) -> Bool {
    (a.high, a.low, a.size) < (b.high, b.low, b.size)
  }
}
