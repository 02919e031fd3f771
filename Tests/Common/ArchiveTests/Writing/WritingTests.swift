import Foundation
import System
import Testing
import TestSupport

@testable import Archive

@Suite struct WritingTests {
  private static let files: [ArchiveInput] = [
    ArchiveInput("deltas/x.dcz", .stored, bytes: Sample.noise(3000)),
    ArchiveInput("files/empty", bytes: []),
    ArchiveInput("files/https%3A%2F%2Fm.example.com%2Fa.js", bytes: Sample.text(100_000)),
    ArchiveInput("files/large", bytes: Sample.text(9_000_000)),
    ArchiveInput("files/noise", bytes: Sample.noise(70_000)),
    ArchiveInput("files/ü", bytes: Sample.text(10)),
    ArchiveInput("large stored", .stored, bytes: Sample.text(8_500_000)),
    ArchiveInput("manifest.json", bytes: Array("{}".utf8)),
  ]

  private static func bytes(_ input: ArchiveInput) throws -> [UInt8] {
    try input.opened().bytes(at: 0, count: Int(input.size))
  }

  /// The format, byte by byte. The entry is stored, so that the bytes don't depend on zlib's version.
  @Test func golden() throws {
    let bytes = try written([ArchiveInput("a.txt", .stored, bytes: Array("hello\n".utf8))])
    let local =
      "504b0304" + "1400" + "0008" + "0000" + "0000" + "2100" + "20303a36" + "06000000" + "06000000" + "0500"
      + "0000"
    let data = "612e747874" + "68656c6c6f0a"
    let directory =
      "504b0102" + "2d03" + "1400" + "0008" + "0000" + "0000" + "2100" + "20303a36" + "06000000" + "06000000"
      + "0500" + "0000" + "0000" + "0000" + "0000" + "0000a481" + "00000000" + "612e747874"
    let end = "504b0506" + "0000" + "0000" + "0100" + "0100" + "33000000" + "29000000" + "0000"
    #expect(Hex.encode(bytes.span.bytes) == local + data + directory + end)
  }

  @Test func roundTrips() throws {
    let read = try contents(try written(Self.files))
    #expect(read.count == Self.files.count)
    for file in Self.files { #expect(try read[file.name] == Self.bytes(file), "\(file.name)") }
  }

  @Test(arguments: [2, 3, 8]) func bytesDoNotDependOnTheNumberOfThreads(_ threads: Int) throws {
    #expect(try written(Self.files, threads: threads) == written(Self.files, threads: 1))
  }

  @Test func entriesOfSeveralBatchesKeepTheirOrder() throws {
    let noise = Sample.noise(1 << 20)
    let files = (0..<130).map { index in
      ArchiveInput("\(1000 + index)", .stored, size: Int64(noise.count)) { ArchiveBytes(noise) }
    }
    let archive = try Archive(ArchiveBytes(try written(files, threads: 4)))
    #expect(archive.entries.map(\.name) == files.map(\.name))
    #expect(ZipPlan(files).batch.last == 2)
  }

  /// More than 65,535 entries need the ZIP64 end.
  @Test func moreThan65535Entries() throws {
    let files = (0..<66_000).map { ArchiveInput("\($0)", .stored, bytes: [UInt8($0 & 255)]) }
    let bytes = try written(files, threads: 2)
    let archive = try Archive(ArchiveBytes(bytes))
    #expect(archive.entries.count == 66_000)
    let last = try #require(archive["65999"])
    #expect(try archive.bytes(of: last, limit: 1) == [UInt8(65_999 & 255)])
    #expect(bytes.count > 66_000 * 77)
  }

  @Test(arguments: [("../x", "name dots"), ("/x", "name absolute"), ("", "name empty")])
  func unsafeNamesAreNotWritten(_ name: String, _ kind: String) {
    #expect { try written([ArchiveInput(name, bytes: [])]) } throws: { ($0 as? ArchiveError)?.kind == kind }
  }

  @Test func duplicateNamesAreNotWritten() {
    #expect { try written([ArchiveInput("a", bytes: []), ArchiveInput("a", bytes: [])]) } throws: {
      ($0 as? ArchiveError)?.kind == "sameName"
    }
  }

  struct Gone: Error {}

  @Test(arguments: [1, 2]) func failingInputEndsWriting(_ threads: Int) {
    var files = (0..<50).map { ArchiveInput("\($0)", bytes: Sample.text(5000)) }
    files.insert(ArchiveInput("gone", size: 9) { throw Gone() }, at: 25)
    #expect { try written(files, threads: threads) } throws: { ($0 as? ArchiveError)?.kind == "input" }
  }

  @Test(arguments: [Int64(9), 11, 9_000_000]) func inputOfAnotherSizeEndsWriting(_ size: Int64) {
    let file = ArchiveInput("a", size: size) { ArchiveBytes(Sample.text(10)) }
    #expect { try written([file], threads: 2) } throws: { ($0 as? ArchiveError)?.kind == "wrongSize" }
  }

  // MARK: - Other programs

  static let readers: [[String]] = [
    ["unzip", "-tqq"], ["bsdtar", "-tf"], ["bsdtar", "-xOf"],
    ["python3", "-c", "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None"],
  ]

  @Test(arguments: readers) func otherProgramsReadWhatIsWritten(_ reader: [String]) throws {
    guard Tool.exists(reader[0]) else { return }
    let folder = try Scratch()
    try written(Self.files, threads: 2).save(to: folder.path + "/a.zip")
    #expect(try Tool.run(reader + [folder.path + "/a.zip"]) == 0)
    try written((0..<66_000).map { ArchiveInput("\($0)", bytes: [1]) }).save(to: folder.path + "/many.zip")
    #expect(try Tool.run(reader + [folder.path + "/many.zip"]) == 0)
  }
}
