import Testing

@testable import Manifests
@testable import Values

/// What devices count, and the batches in which counts are reported.
@Suite struct DeviceCountsTests {
  private func batch(_ text: String) throws -> DeviceBatch { try DeviceBatch(json: .parse(Array(text.utf8))) }

  @Test func batchesRoundTrip() throws {
    var counts = DeviceCounts()
    for (index, count) in DeviceCount.all.enumerated() { counts.add(count, Int64(index)) }
    let batch = DeviceBatch(version: ManifestVersion(553), counts: counts)
    #expect(try DeviceBatch(json: .parse(batch.body)) == batch)
    #expect(
      batch.body.count < 4096, "with all names at their limit a batch stays below what a report may have")
    #expect(Set(DeviceCount.all.map(\.name)).count == DeviceCount.all.count)
    #expect(DeviceCount.all.allSatisfy { DeviceCount(name: $0.name) == $0 && $0.name.utf8.count <= 32 })
    var one = DeviceCounts()
    one.add(.pageFailed, 2)
    let text = String(decoding: DeviceBatch(version: ManifestVersion(7), counts: one).body, as: UTF8.self)
    #expect(text == #"{"counts":{"page-failed":2},"version":"7"}"#)
  }

  /// A device that counts polls says so also where there were none.
  @Test func pollsAreToldAlsoIfThereWereNone() throws {
    var counts = DeviceCounts()
    counts.add(.local, 2)
    let batch = DeviceBatch(version: ManifestVersion(7), counts: counts, countsPolls: true)
    #expect(String(decoding: batch.body, as: UTF8.self) == #"{"counts":{"local":2,"polls":0},"version":"7"}"#)
    #expect(try self.batch(#"{"counts":{"local":2,"polls":0},"version":"7"}"#) == batch)
    #expect(try self.batch(#"{"counts":{"local":2,"polls":3},"version":"7"}"#).countsPolls)
    #expect(try !self.batch(#"{"counts":{"local":2},"version":"7"}"#).countsPolls)
    counts.add(.polls)
    #expect(DeviceBatch(version: ManifestVersion(7), counts: counts).countsPolls)
  }

  @Test func unknownNamesAreIgnored() throws {
    #expect(try batch(#"{"counts":{"local":3,"new-thing":9},"more":[],"version":"7"}"#).counts[.local] == 3)
    #expect(try batch(#"{"counts":{},"version":"0"}"#).counts.isEmpty)
  }

  @Test(arguments: [
    #"{"counts":{"local":1}}"#, #"{"counts":{"local":1},"version":7}"#,
    #"{"counts":{"local":1},"version":"07"}"#,
    #"{"counts":[],"version":"7"}"#, #"{"counts":{"local":-1},"version":"7"}"#,
    #"{"counts":{"local":1000001},"version":"7"}"#,
    #"{"counts":{"local":9223372036854775807},"version":"7"}"#,
    #"{"counts":{"local":92233720368547758070},"version":"7"}"#, #"{"counts":{"local":0.5},"version":"7"}"#,
    #"{"counts":{"local":"1"},"version":"7"}"#, #"{"counts":{"local":null},"version":"7"}"#,
    #"{"counts":{"unknown":-1},"version":"7"}"#,
    #"{"counts":{\#((0...128).map { "\"n\($0)\":1" }.joined(separator: ","))},"version":"7"}"#,
  ])
  func invalidBatchesAreRefused(_ text: String) { #expect(throws: (any Error).self) { try batch(text) } }

  /// No input traps, and accepted counts are within their bounds.
  @Test func mutatedBatches() throws {
    var random = SystemRandomNumberGenerator()
    let whole = Array(
      #"{"counts":{"local":120,"passed":7,"status-2xx":1000000,"paint-local-128":3},"version":"553"}"#.utf8)
    let pieces = [
      "-", "9999999999999999999", "1e9", "{", "}", "\"", "[", "]", ",", ":", "0", "null", "\\u0000", "local",
    ].map { Array($0.utf8) }
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.replaceSubrange(index..<min(bytes.count, index + 6), with: pieces.randomElement() ?? [])
        default: bytes.insert(contentsOf: pieces.randomElement() ?? [], at: index)
        }
        if bytes.isEmpty { bytes = whole }
      }
      guard let json = try? JSONValue.parse(bytes), let batch = try? DeviceBatch(json: json) else { continue }
      #expect(batch.counts.all.allSatisfy { (1...DeviceCounts.limit).contains($0.times) })
    }
  }

  @Test func sumsDoNotOverflow() {
    var counts = DeviceCounts()
    counts.add(.local, .max)
    counts.add(.local, 5)
    counts.add(counts)
    counts.add(.local, -3)
    #expect(counts[.local] == .max)
    #expect(
      String(decoding: DeviceBatch(version: .none, counts: counts).body, as: UTF8.self).contains("1000000"))
  }

  @Test(
    arguments: [
      (DeviceCount.status(0), "status-error"), (.status(200), "status-2xx"), (.status(304), "status-3xx"),
      (.status(451), "status-4xx"), (.status(599), "status-5xx"), (.status(600), nil), (.status(199), nil),
      (.status(-1), nil), (.status(.max), nil), (.time(.paint, isLocal: true, 0), "paint-local-128"),
      (.time(.paint, isLocal: true, 128), "paint-local-128"),
      (.time(.paint, isLocal: false, 129), "paint-network-256"),
      (.time(.load, isLocal: true, 8192), "load-local-8192"),
      (.time(.load, isLocal: false, 8193), "load-network-more"),
      (.time(.load, isLocal: false, .max), "load-network-more"), (.time(.load, isLocal: true, -1), nil),
    ] as [(DeviceCount?, String?)])
  func namesOfClasses(_ count: DeviceCount?, _ name: String?) { #expect(count?.name == name) }
}
