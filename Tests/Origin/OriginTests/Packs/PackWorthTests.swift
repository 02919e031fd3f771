import Compression
import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Packs that are made or skipped because of their size.
@Suite struct PackWorthTests {
  private static let online = "apps/shop/channels/online"

  /// The limit of a pack applies to what it contains of a file, not to the file; exceeding it is logged once.
  @Test(arguments: ["small", "pack", "file"]) func limitAppliesToThePack(_ what: String) throws {
    let lines = Locked<[String]>([])
    let origin = try PackServingTests.published { options in
      // The file has 80 KB, and its delta 100 bytes.
      if what == "file" { options.packs.largestFile = 3000 } else { options.packs.largest = 3000 }
      if what == "pack" { options.packs.largest = 100 }
      options.log = { line in lines.withLock { $0.append(line) } }
    }
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    let service = origin.origin.api.releases.deltas
    #expect(try PackServingTests.becomesTrue { service.backlog.pending == 0 })
    let isLeftOut = what != "small"
    #expect(try PackServingTests.names(origin, from: 1) == !isLeftOut)
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains("xcache_packs_too_large_total \(isLeftOut ? 1 : 0)\n"))
    let lineCount = lines.withLock { $0.filter { $0.contains("packs of shop online 2 are left out") } }
    #expect(lineCount.count == (isLeftOut ? 1 : 0))
    if what == "pack" { #expect(lineCount.first?.contains("--pack-limit 100") == true) }
    if what == "file" { #expect(lineCount.first?.contains("files of 3000 bytes at most") == true) }
  }

  /// Incompressible files, whose pack is about as large as they are: the forecast is right.
  @Test func costOfAPackBarelyWorthMaking() throws {
    let origin = try TestOrigin()
    try origin.publish(["i.txt": "0"])
    var random = Noise()
    var set = JSONObject()
    for number in 0..<2 {
      let bytes = (0..<(6 << 20) / 8).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
      let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
      _ = try origin.store.receive(
        bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
      let name = "big\(number).bin"
      set["https://m.example.com/\(name)"] =
        ResourceContent(digest, ctype: ContentType.of(fileName: name), headers: EntryHeaders()).json
    }
    let release: JSONValue = [
      "bundles": [["base": "1", "bundle": "main", "remove": [], "set": .object(set)]], "message": "test",
    ]
    let cost = try PackCostTests.prepare(origin, release)
    #expect(try origin.api("POST", "\(Self.online)/releases", release).status == 201)
    #expect((cost["last1"]?["pack"] != nil) == (try PackServingTests.names(origin, from: 1)), "\(cost)")
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { origin.origin.api.releases.deltas.backlog.pending == 0 })
    #expect((cost["last1"]?["pack"] != nil) == (try PackServingTests.names(origin, from: 1)))
  }

  /// The largest file that is coded, with a base as large, stays within the memory budget: none exceeds it, not even alone.
  @Test func largestFileIsWithinTheBudget() {
    let largest = [Int(PackLimits().largestFile), DeltaTrial.largestFile]
    for size in largest { #expect(MemoryBudget.cost(target: size, base: size) <= DeltaService.memory) }
  }

  /// xorshift64* (Vigna 2014): the same in every run.
  private struct Noise {
    var state: UInt64 = 1

    mutating func next() -> UInt64 {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return state &* 0x2545_F491_4F6C_DD1D
    }
  }
}
