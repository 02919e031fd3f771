import Archive
import Compression
import DeviceTestSupport
import Manifests
import System
import Testing
import Values

@testable import XCacheDevice

private let a = "https://m.test/a.js"
private let b = "https://m.test/sub/b.css"

@Suite struct PresetTests {
  let bench: Bench
  var origin: FakeOrigin { bench.origin }

  init() throws { bench = try Bench() }

  /// Writes a zip of `files` with the origin's answer to `query` as its document.
  private func zip(
    _ name: String, _ files: [String: [UInt8]], document: String = BundleZip.manifestName, query: String = "",
    change: (inout [ArchiveInput]) -> Void = { _ in }
  ) throws -> String {
    var body: [UInt8] = []
    _ = try origin.get(
      TransportRequest("\(FakeOrigin.server)/configure.json?app=shop&channel=online\(query)", limit: 1 << 20)
    ) {
      $0.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    _ = origin.takeLog()
    var inputs = try files.sorted { $0.key < $1.key }.map {
      ArchiveInput(BundleZip.path(ofFile: ResourceFileName(try ResourceURL($0.key)).text), bytes: $0.value)
    }
    inputs.append(ArchiveInput(document, bytes: body))
    change(&inputs)
    let path = "\(bench.scratch.path)/\(name)"
    let sink = ArchiveFileSink(try Kernel.open(path, [.write, .create, .truncate]), path: path)
    try Archive.write(inputs, threads: 1, to: sink)
    _ = try sink.finish()
    return path
  }

  @Test func presetsStartADeviceWithoutANetwork() throws {
    let files = [a: bytes("one"), b: bytes("two")]
    try origin.publish(files)
    let device = try bench.device()
    let report = try device.install(preset: zip("1.zip", files))
    #expect(report.isTaken && report.version == "1" && report.from == "0")
    #expect(report.files == 2 && report.bytes == 6)
    #expect(origin.takeLog().isEmpty)
    #expect(try device.resource(for: a)?.read() == bytes("one"))
    #expect(origin.takeLog().isEmpty)
    #expect(try bench.state() == bench.fresh())
    let update = try device.update()
    #expect(update.kind == .nothing)
  }

  @Test func laterVersionsAreTakenAsPatches() throws {
    try origin.publish([a: bytes("one"), b: bytes("two")])
    let path = try zip("1.zip", [a: bytes("one"), b: bytes("two")])
    try origin.publish([a: bytes("one"), b: bytes("three")])
    let device = try bench.device()
    _ = try device.install(preset: path)
    let update = try device.update()
    #expect(update.kind == .patch && update.fetched == 1 && update.kept == 1)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func updateZipsAreInstalled() throws {
    try origin.publish([a: bytes("one"), b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    let digest = device.digest
    try origin.publish([a: bytes("uno"), b: bytes("two")])
    let path = try zip(
      "1-2.zip", [a: bytes("uno")], document: BundleZip.patchName,
      query: "&version=1&digest=\(digest)&patch=1")
    let report = try device.install(preset: path)
    #expect(report.isTaken && report.version == "2" && report.files == 1 && report.held == 1)
    #expect(try bench.state() == bench.fresh())
    let other = try bench.device("other")
    #expect { try other.install(preset: path) } throws: {
      "\($0)".contains("it updates version 1, but the device has nothing yet")
    }
    #expect(other.version == "0")
  }

  // MARK: - Zips with deltas

  private static let old = bytes((0..<3000).map { "let a\($0) = \($0 &* 7919);" }.joined())
  private static let new = Array(old.dropLast(10)) + bytes("let z = 1;")

  /// A device with version 1, and a zip with deltas from version 1 to 2.
  private func deltaZip(_ change: (inout [UInt8]) -> Void = { _ in }) throws -> (Device, path: String) {
    try origin.publish([a: Self.old, b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([a: Self.new, b: bytes("three")])
    var delta = try #require(Dcz.encodeWell(Self.new, base: Self.old, baseSHA256: SHA256.of(Self.old)))
    try origin.offer(delta, for: a, on: Self.old)
    change(&delta)
    let name = BundleZip.path(ofDelta: ResourceFileName(try ResourceURL(a)).text)
    let path = try zip(
      "1-2.delta.zip", [b: bytes("three")], document: BundleZip.patchName,
      query: "&version=1&digest=\(device.digest)&patch=1"
    ) { $0.append(ArchiveInput(name, .stored, bytes: delta)) }
    return (device, path)
  }

  @Test func deltaZipsAreInstalled() throws {
    let (device, path) = try deltaZip()
    let report = try device.install(preset: path)
    #expect(report.isTaken && report.version == "2" && report.files == 2)
    #expect(report.bytes == Int64(Self.new.count + 5) && origin.takeLog().isEmpty)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func deltaZipsNeedTheirBases() throws {
    let (device, path) = try deltaZip()
    let base = ResourceFileName(try ResourceURL(a)).text
    try Kernel.remove("\(bench.scratch.path)/device/files/\(base)")
    #expect { try device.install(preset: path) } throws: {
      "\($0)".contains("its delta of \(a) is damaged, or the device lacks the file that it is over")
        && "\($0)".contains("Fetch 1-2.zip or 2.zip from the origin's bundle/ path")
    }
    #expect(device.version == "1")
  }

  @Test func zipsWithDamagedDeltasChangeNothing() throws {
    let (device, path) = try deltaZip { $0[$0.count - 6] ^= 0x55 }
    #expect { try device.install(preset: path) } throws: { "\($0)".contains("its delta of \(a) is damaged") }
    #expect(device.version == "1")
    #expect(try device.resource(for: a)?.read() == Self.old)
    #expect(
      try Folder.textNames("\(bench.scratch.path)/device/staging").allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test func olderPresetsAreIgnored() throws {
    try origin.publish([a: bytes("one")])
    let path = try zip("1.zip", [a: bytes("one")])
    try origin.publish([a: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    let report = try device.install(preset: path)
    #expect(!report.isTaken && report.version == "1" && report.from == "2")
    #expect(device.version == "2")
  }

  @Test func heldFilesAreNotUnpacked() throws {
    try origin.publish([a: bytes("one"), b: bytes("two")])
    let device = try bench.device()
    _ = try device.update()
    try origin.publish([a: bytes("one"), b: bytes("three")])
    let report = try device.install(preset: zip("2.zip", [b: bytes("three")]))
    #expect(report.isTaken && report.files == 1 && report.held == 1)
    #expect(try bench.state() == bench.fresh())
  }

  @Test func invalidPresetsChangeNothing() throws {
    let files = [a: bytes("one"), b: bytes("two")]
    try origin.publish(files)
    let device = try bench.device()
    let invalid: [(String, String)] = [
      (try zip("no-manifest.zip", files) { $0.removeLast() }, "it contains no manifest"),
      (try zip("lacks.zip", [a: bytes("one")]), "it doesn't contain \(b)"),
      (
        try zip("other.zip", [a: bytes("one"), b: bytes("TWO")]), "its bytes of \(b) differ from its manifest"
      ),
      (
        try zip("json.zip", files) { $0[2] = ArchiveInput(BundleZip.manifestName, bytes: bytes("{")) },
        "its manifest is damaged"
      ),
      ("\(bench.scratch.path)/none.zip", "No such file"),
    ]
    for (path, words) in invalid {
      #expect(throws: DeviceError.self) { try device.install(preset: path) }
      #expect { try device.install(preset: path) } throws: { "\($0)".contains(words) }
    }
    let good = try #require(try DurableFile.read(zip("good.zip", files)))
    try DurableFile.write(Array(good.dropLast(9)), to: "\(bench.scratch.path)/cut.zip")
    #expect { try device.install(preset: "\(bench.scratch.path)/cut.zip") } throws: {
      "\($0)".contains("it is truncated")
    }
    #expect(device.version == "0")
    #expect(try Folder.textNames("\(bench.scratch.path)/device/files").isEmpty)
    #expect(
      try Folder.textNames("\(bench.scratch.path)/device/staging").allSatisfy { !$0.hasSuffix(".part") })
    #expect(try device.install(preset: zip("good.zip", files)).isTaken)
  }

  /// If the manifest exceeds the disk limit, small files are unpacked first, and the others are fetched on demand.
  @Test func presetsObeyTheDiskLimit() throws {
    let large = PackBench.text(1, 20_000)
    try origin.publish([a: large, b: bytes("two")])
    let device = try bench.device(change: { $0.diskLimit = 8192 })
    let report = try device.install(preset: try zip("1.zip", [a: large, b: bytes("two")]))
    #expect(report.isTaken && report.files == 1 && device.version == "1")
    #expect(try Folder.textNames("\(bench.scratch.path)/device/files").count == 1)
    #expect(try device.resource(for: a)?.read() == large)
  }
}
