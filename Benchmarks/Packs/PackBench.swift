import Compression
import Glibc
import Manifests
import System
import Values

/// Measures what a pack's parts cost, without a server:
///
///     pack-bench FILE
///
/// Renames FILE, a large script, by the words of 700 renamed files; says a change of 10 entries in 100,000, and of all of
/// them; decodes a frame of 1 GiB. Ends with 1 where a bar isn't held.
enum PackBench {
  static func run() {
    guard CommandLine.arguments.count == 2, let file = try? DurableFile.read(CommandLine.arguments[1]) else {
      print("pack-bench FILE")
      Environment.exit(2)
    }
    var isHeld = renaming(file)
    isHeld = frames() && isHeld
    do {
      isHeld = try lists(arrivals: 10, of: 100_000, limit: 0.01) && isHeld
      isHeld = try lists(arrivals: 100_000, of: 100_000, limit: 2) && isHeld
    } catch {
      print("a list of our own isn't read: \(error)")
      isHeld = false
    }
    Environment.exit(isHeld ? 0 : 1)
  }

  /// Of processor time: other work on the machine doesn't count.
  private static func seconds(_ act: () throws -> Void) rethrows -> Double {
    let start = clock()
    try act()
    return Double(clock() - start) / Double(CLOCKS_PER_SEC)
  }

  private static func rounded(_ number: Double, _ places: Double = 100) -> Double {
    (number * places).rounded() / places
  }

  /// "Renaming speed ≥ 200 MB/s", at its slowest of five, for a file of which words are renamed, and for one without.
  private static func renaming(_ file: [UInt8]) -> Bool {
    let urls = (0..<700).map { number in
      (
        old: "https://m.example.com/assets/part\(number).\(hash(number))",
        new: "https://m.example.com/assets/part\(number).\(hash(number + 1000))"
      )
    }
    let renaming = PackRenaming(urls)
    let imports = (0..<700).map { "import\"./part\($0).\(hash($0)).js\";" }.joined()
    var isHeld = true
    for (what, bytes) in [("without a renamed word", file), ("with 700", Array(imports.utf8) + file)] {
      let rounds = (0..<5).map { _ in seconds { _ = renaming.applied(to: bytes) } }
      let speed = Double(bytes.count) / (rounds.max() ?? 1) / 1e6
      print("renaming, \(what): \(rounded(speed, 1)) MB/s of \(bytes.count) bytes (at least 200)")
      isHeld = isHeld && speed >= 200
    }
    return isHeld
  }

  private static func hash(_ number: Int) -> String {
    String(SHA256.of(Array("\(number)".utf8)).hex.prefix(8))
  }

  /// Seconds and bytes of a list, written and read, and of the manifest that it leads to.
  private static func lists(arrivals count: Int, of total: Int, limit: Double) throws -> Bool {
    let items = try (0..<total).map { number in
      let url = try ResourceURL("https://m.example.com/assets/\(1_000_000 + number).\(hash(number)).js")
      return (url, try entry(url, number))
    }.map { ManifestItem(url: $0, entry: $1) }
    let base = Manifest(version: ManifestVersion(1), items: items)
    let touched = (0..<count).map { $0 * (total / count) }
    var arrivals = try touched.enumerated().map { index, place in
      let url = try ResourceURL("https://m.example.com/assets/\(1_000_000 + place).\(hash(place + total)).js")
      return PackChanges.Arrival(
        url: url, partner: index, form: form, version: 1, manifestVersion: ManifestVersion(2),
        source: .record(base: place, isRenamed: true))
    }
    arrivals.sort { $0.url < $1.url }
    let changes = PackChanges(touched: touched, arrivals: arrivals)
    var list: [UInt8] = []
    let writing = seconds {
      list = changes.bytes(version: ManifestVersion(2), old: touched.map { items[$0] })
    }
    let reading = try seconds {
      let read = try PackChanges(list, version: ManifestVersion(2), base: base.items)
      if read != changes { throw PackFault.damaged("not the same") }
    }
    let digests = arrivals.map {
      FileDigest(md5: MD5.of([]), sha256: SHA256.of(Array($0.url.text.utf8)), size: 1)
    }
    let applying = try seconds {
      _ = try changes.applied(to: base, version: ManifestVersion(2), digests: digests)
    }
    let coded = PackFrame.encode(list, level: 19)?.count ?? 0
    print(
      "\(count) of \(total) entries: \(list.count) bytes, \(coded) coded; written in \(rounded(writing * 1000)) ms,",
      "read in \(rounded(reading * 1000)) ms, applied in \(rounded(applying * 1000)) ms (both at most \(limit) s)"
    )
    return writing <= limit && reading <= limit
  }

  private static let form = EntryForm(
    ctype: "text/javascript", others: JSONObject(), downloadBase: "https://cdn.example.com/xcache/1")

  private static func entry(_ url: ResourceURL, _ number: Int) throws -> Entry {
    let arrival = PackChanges.Arrival(
      url: url, partner: nil, form: form, version: 1, manifestVersion: ManifestVersion(1), source: .held(0))
    let digest = FileDigest(md5: MD5.of([]), sha256: SHA256.of(Array(url.text.utf8)), size: Int64(number))
    guard let entry = arrival.entry(digest) else { throw PackFault.overLimit }
    return entry
  }

  /// A long file over nothing is decoded in bounded memory: a frame of RLE blocks that stands for 1 GiB.
  private static func frames() -> Bool {
    let size = 1 << 30
    // Frame_Header_Descriptor without anything, a window of 8 MiB, then blocks of 128 KiB of one byte (RFC 8878 §3.1.1).
    var frame: [UInt8] = [0x00, 13 << 3]
    for index in 0..<size >> 17 {
      let header = (1 << 17) << 3 | 1 << 1 | (index == size >> 17 - 1 ? 1 : 0)
      frame += [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16 & 0xFF), 7]
    }
    let before = peakMemory()
    var count = 0
    let time = seconds {
      var decoder = PackFrameDecoder(base: nil, limit: Int64(size))
      try? decoder.push(frame.span.bytes) { count += $0.byteCount }
    }
    let memory = peakMemory() - before
    print(
      "a frame of 1 GiB: decoded to \(count) bytes in \(rounded(time)) s, with \(memory / 1000) MB more memory",
      "(at most 12)")
    return count == size && memory <= 12_000
  }

  /// In kB.
  private static func peakMemory() -> Int {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss
  }
}
