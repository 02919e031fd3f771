import Compression
import Manifests
import System
import Values

/// The deltas that an answer offers, and the files that the device holds to apply them to.
///
/// If a delta fails for any reason (no base, damaged bytes, a wrong result), the plain body is fetched instead.
final class DeltaTable: Sendable {
  struct Counts: Sendable {
    /// Files made from a delta.
    var used = 0
    /// Deltas that couldn't be fetched or used.
    var failed = 0
    /// The bytes received for both.
    var received: Int64 = 0
  }

  /// Counts what is read of bases that were read before: an offer of a few bytes can name a large one, many times.
  struct ReadBudget {
    private var seen: Set<SHA256> = []
    private var left: Int64

    init(limit: Int64) { left = limit }

    mutating func allowsReading(_ base: SHA256, at path: String) -> Bool {
      if seen.insert(base).inserted { return true }
      guard let size = try? Kernel.status(path)?.size, size <= left else { return false }
      left -= size
      return true
    }
  }

  /// Larger files are fetched plain, because base, delta and result are all in memory.
  private static let largestFile: Int64 = 64 << 20
  /// Larger files are decoded one at a time.
  private static let largeFile: Int64 = 2 << 20

  private let offers: [ResourceURL: DeltaOffer]
  /// The paths of the bases.
  private let bases: [SHA256: String]
  private let counted = Locked(Counts())
  private let readBudget = Locked(ReadBudget(limit: 256 << 20))
  private let large = Locked<Void>(())

  init(_ offers: [DeltaOffer], bases: [SHA256: String]) {
    self.offers = Dictionary(offers.map { ($0.url, $0) }) { $1 }
    self.bases = bases
  }

  var counts: Counts { counted.withLock { $0 } }

  /// Makes an entry's file from a delta and writes it to `part`; false if it has to be fetched plain.
  func make(_ entry: HeldEntry, into part: String, by transport: any Transport) -> Bool {
    guard let offer = offers[entry.url], let base = bases[offer.base], isWorthTrying(offer, entry) else {
      return false
    }
    let isMade = fetch(offer, by: transport).map { apply($0, offer, base, entry, part) }
    counted.withLock { counts in
      if isMade == true { counts.used += 1 } else { counts.failed += 1 }
    }
    return isMade == true
  }

  /// Makes an entry's file from a delta obtained by other means; false if the delta is damaged, or its base isn't
  /// held.
  func make(_ entry: HeldEntry, of delta: [UInt8], into part: String) -> Bool {
    guard let offer = offers[entry.url], let base = bases[offer.base], entry.size <= Self.largestFile else {
      return false
    }
    return apply(delta, offer, base, entry, part)
  }

  /// Returns the approximate bytes to download for some entries.
  func cost(of entries: [HeldEntry]) -> Int64 {
    entries.clampedSum { entry in
      guard let offer = offers[entry.url], bases[offer.base] != nil, isWorthTrying(offer, entry) else {
        return entry.size
      }
      return offer.size
    }
  }

  private func isWorthTrying(_ offer: DeltaOffer, _ entry: HeldEntry) -> Bool {
    entry.size <= Self.largestFile && offer.size < entry.size && (try? ResourceURL(offer.download)) != nil
  }

  private func fetch(_ offer: DeltaOffer, by transport: any Transport) -> [UInt8]? {
    var delta: [UInt8] = []
    let reply = try? transport.get(TransportRequest(offer.download, limit: offer.size)) { bytes in
      bytes.withUnsafeBytes { delta.append(contentsOf: $0) }
      return true
    }
    let received = reply?.received ?? Int64(delta.count)
    counted.withLock { $0.received += received }
    return reply?.status == 200 ? delta : nil
  }

  private func apply(
    _ delta: [UInt8], _ offer: DeltaOffer, _ base: String, _ entry: HeldEntry, _ part: String
  ) -> Bool {
    if entry.size <= Self.largeFile { return decode(delta, offer, base, entry, part) }
    return large.withLock { _ in decode(delta, offer, base, entry, part) }
  }

  private func decode(
    _ delta: [UInt8], _ offer: DeltaOffer, _ base: String, _ entry: HeldEntry, _ part: String
  ) -> Bool {
    guard readBudget.withLock({ $0.allowsReading(offer.base, at: base) }),
      let held = try? DurableFile.read(base, limit: Int(Self.largestFile)), SHA256.of(held) == offer.base,
      let bytes = try? Dcz.decode(delta, base: held, baseSHA256: offer.base, limit: Int(entry.size))
    else { return false }
    var hasher = FileHasher()
    hasher.update(bytes.span.bytes)
    return hasher.finish() == entry.bytes && CacheFolder.write(bytes, toNew: part)
  }
}

extension CacheFolder {
  /// Writes a new file; it becomes durable together with the other staged files.
  fileprivate static func write(_ bytes: [UInt8], toNew path: String) -> Bool {
    do {
      let file = try Kernel.open(path, [.write, .create, .exclusive, .noFollow])
      try Kernel.write(bytes.span.bytes, to: file, path: path)
      return true
    } catch {
      return false
    }
  }
}
