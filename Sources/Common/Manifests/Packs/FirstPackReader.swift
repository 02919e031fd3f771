/// Reads a first pack as its bytes arrive: its head with the list of files, then the frame, whose bytes it passes on.
///
/// In memory are the items of the list that have arrived; nothing is reserved because a number says so.
package struct FirstPackReader {
  /// A part of a first pack, in order.
  package enum Part: ~Escapable {
    case head(FirstPackHead)
    /// The next bytes of the frame, which ends where the pack does.
    case frame(RawSpan)
  }

  private enum State {
    case front
    case list(version: ManifestVersion, count: Int, left: Int)
    case frame
  }

  private var state = State.front
  private var held: [UInt8] = []
  private var items: [FirstPackItem] = []
  private let limit: Int

  /// - Parameter limit: the most files that the reader takes a list of.
  package init(limit: Int = FirstPackHead.maxFiles) { self.limit = min(limit, FirstPackHead.maxFiles) }

  /// How many more bytes belong to the head and its list, as far as is known: at least 1 until the list is complete, then 0.
  package var needed: Int {
    switch state {
    case .front: max(1, FirstPackHead.magic.count + 3 - held.count)
    case .list(_, _, let left): left
    case .frame: 0
    }
  }

  /// Takes the next bytes, and passes each part that they complete to `take`. Must not be called again after it throws.
  /// - Throws: what `take` throws, or a `PackFault` if the bytes aren't a first pack, or have more files than `limit`.
  package mutating func push(_ bytes: RawSpan, _ take: (borrowing Part) throws -> Void) throws {
    var start = 0
    while start < bytes.byteCount {
      switch state {
      case .front:
        let before = held.count
        let count = min(FirstPackHead.longestFront - before, bytes.byteCount - start)
        hold(bytes.extracting(start..<start + count))
        guard let front = try Self.front(held) else {
          start += count
          continue
        }
        guard front.count <= limit else { throw PackFault.overLimit }
        start += front.length - before
        held = []
        state = .list(version: front.version, count: front.count, left: front.list)
      case .list(let version, let count, let left):
        let taken = min(left, bytes.byteCount - start)
        hold(bytes.extracting(start..<start + taken))
        start += taken
        try readItems(upTo: count)
        // So what is buffered is less than an item.
        guard items.count < count || held.isEmpty else {
          throw PackFault.damaged("its list is longer than its files need")
        }
        state = .list(version: version, count: count, left: left - taken)
        guard taken == left else { continue }
        guard items.count == count else { throw PackFault.damaged("its list ends before its last file") }
        let head = try FirstPackHead(version: version, items: items)
        items = []
        state = .frame
        try take(.head(head))
      case .frame:
        try take(.frame(bytes.extracting(start...)))
        start = bytes.byteCount
      }
    }
  }

  private mutating func hold(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { held.append(contentsOf: $0) }
  }

  /// Takes the items that are complete out of the buffer.
  private mutating func readItems(upTo count: Int) throws(PackFault) {
    var reader = VarintReader(held)
    var end = 0
    while items.count < count, reader.left > 0 {
      do throws(PackFault) {
        let prefix = try reader.bytes(FirstPackItem.prefixCount)
        items.append(FirstPackItem(prefix: prefix[...], size: try reader.number()))
      } catch {
        guard reader.hasRunOut else { throw error }
        break
      }
      end = reader.index
    }
    held.removeFirst(end)
  }

  /// Parses what comes before the list.
  /// - Returns: nil if there are too few bytes yet.
  private static func front(_ bytes: [UInt8]) throws(PackFault) -> (
    version: ManifestVersion, count: Int, list: Int, length: Int
  )? {
    guard FirstPackHead.magic.starts(with: bytes.prefix(FirstPackHead.magic.count)) else {
      throw .damaged("it doesn't begin as a first pack")
    }
    var reader = VarintReader(bytes)
    do throws(PackFault) {
      _ = try reader.bytes(FirstPackHead.magic.count)
      let version = try reader.number()
      let count = try reader.number(below: FirstPackHead.maxFiles + 1)
      let list = try reader.number(below: FirstPackHead.maxItemBytes * count + 1)
      guard version > 0, count > 0, list >= FirstPackItem.shortest * count else {
        throw .damaged("its head has numbers out of range")
      }
      return (ManifestVersion(version), count, list, reader.index)
    } catch {
      if reader.hasRunOut { return nil }
      throw error
    }
  }
}

/// Cuts what the frame of a first pack decodes to into its files.
package struct FirstPackFiles {
  /// A part of the decoded bytes, in order.
  package enum Part: ~Escapable {
    /// The file at this index of the list begins.
    case begin(Int, FirstPackItem)
    /// Its next bytes.
    case bytes(RawSpan)
    /// All its bytes have come; they aren't checked.
    case end
  }

  private let head: FirstPackHead
  private var next = 0
  /// The bytes that the file which has begun lacks; nil between two files.
  private var left: Int64?

  package init(of head: FirstPackHead) { self.head = head }

  /// Whether all files have ended.
  package var isAtEnd: Bool { next == head.items.count && left == nil }

  /// Takes the next decoded bytes, and passes each part to `take`; call it once with none before the first, so that a first
  /// pack of empty files ends, too. Must not be called again after it throws.
  /// - Throws: what `take` throws, or a `PackFault` if there are more bytes than the list says.
  package mutating func push(_ bytes: RawSpan, _ take: (borrowing Part) throws -> Void) throws {
    var start = 0
    while true {
      guard let open = left else {
        guard next < head.items.count else {
          guard start == bytes.byteCount else { throw PackFault.damaged("it goes on behind its last file") }
          return
        }
        try take(.begin(next, head.items[next]))
        left = head.items[next].size
        continue
      }
      let count = Int(min(open, Int64(bytes.byteCount - start)))
      if count > 0 { try take(.bytes(bytes.extracting(start..<start + count))) }
      start += count
      left = open - Int64(count)
      if open > Int64(count) { return }
      next += 1
      left = nil
      try take(.end)
    }
  }

  /// Checks that all files have come.
  package func finish() throws(PackFault) {
    guard isAtEnd else { throw .damaged("it ends before its last file") }
  }
}
