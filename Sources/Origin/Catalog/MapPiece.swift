/// A run of a rendered resourcemap: `"url":{…},"url":{…}` and where each member begins.
final class MapPiece: Sendable {
  /// Members in a piece when it is made; one that grows past twice as many is cut.
  static let usualCount = 128

  let bytes: [UInt8]
  private let members: [Member]

  /// Offsets of a member's parts in `bytes`.
  private struct Member {
    /// Of the URL, after its quote.
    let urlStart: Int32
    let urlEnd: Int32
    let entryStart: Int32
    let entryEnd: Int32
  }

  var count: Int { members.count }
  var firstURL: ArraySlice<UInt8> { url(0) }
  var urls: [ArraySlice<UInt8>] { members.indices.map { url($0) } }

  private init(bytes: [UInt8], members: [Member]) {
    self.bytes = bytes
    self.members = members
  }

  private func url(_ index: Int) -> ArraySlice<UInt8> {
    bytes[Int(members[index].urlStart)..<Int(members[index].urlEnd)]
  }

  private func entry(_ index: Int) -> ArraySlice<UInt8> {
    bytes[Int(members[index].entryStart)..<Int(members[index].entryEnd)]
  }

  func entry(for url: ArraySlice<UInt8>) -> ArraySlice<UInt8>? { place(of: url).map { entry($0) } }

  /// How many URLs stand before one; nil where it isn't here.
  func place(of url: ArraySlice<UInt8>) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self.url(middle).lexicographicallyPrecedes(url) { low = middle + 1 } else { high = middle }
    }
    return low < count && self.url(low) == url ? low : nil
  }

  /// What stands in this piece's place after `changes`: none, one or several pieces.
  func applying(_ changes: ArraySlice<MapChange>) -> [MapPiece] {
    var merged = Merge()
    var index = 0
    for change in changes {
      while index < count, url(index).lexicographicallyPrecedes(change.url) {
        merged.keep(url(index), entry(index))
        index += 1
      }
      if index < count, url(index) == change.url[...] { index += 1 }
      if let entry = change.entry { merged.keep(change.url[...], entry[...]) }
    }
    while index < count {
      merged.keep(url(index), entry(index))
      index += 1
    }
    return merged.finish()
  }

  /// The members of a piece after a change, cut evenly where they became too many.
  private struct Merge {
    private var members: [(url: ArraySlice<UInt8>, entry: ArraySlice<UInt8>)] = []

    mutating func keep(_ url: ArraySlice<UInt8>, _ entry: ArraySlice<UInt8>) { members.append((url, entry)) }

    func finish() -> [MapPiece] {
      guard !members.isEmpty else { return [] }
      let cuts = members.count > 2 * MapPiece.usualCount ? members.count / MapPiece.usualCount : 1
      return (0..<cuts).map { cut in
        var builder = Builder()
        for member in members[members.count * cut / cuts..<members.count * (cut + 1) / cuts] {
          builder.append(url: member.url, entry: member.entry)
        }
        return builder.finish()
      }
    }
  }

  /// Renders members one after another.
  struct Builder {
    private var bytes: [UInt8] = []
    private var members: [Member] = []

    var count: Int { members.count }

    mutating func append(url: ArraySlice<UInt8>, entry: ArraySlice<UInt8>) {
      if !members.isEmpty { bytes.append(UInt8(ascii: ",")) }
      bytes.append(UInt8(ascii: "\""))
      let urlStart = bytes.count
      bytes.append(contentsOf: url)
      let urlEnd = bytes.count
      bytes.append(UInt8(ascii: "\""))
      bytes.append(UInt8(ascii: ":"))
      let entryStart = bytes.count
      bytes.append(contentsOf: entry)
      members.append(
        Member(
          urlStart: Int32(urlStart), urlEnd: Int32(urlEnd), entryStart: Int32(entryStart),
          entryEnd: Int32(bytes.count)))
    }

    mutating func finish() -> MapPiece {
      defer { self = Builder() }
      return MapPiece(bytes: bytes, members: members)
    }
  }
}
