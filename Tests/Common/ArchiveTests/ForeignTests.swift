import Foundation
import System
import Testing
import TestSupport

@testable import Archive

/// Archives that other programs wrote.
@Suite struct ForeignTests {
  private static let files = [
    "index.html": Sample.text(5000), "img/a b.png": Sample.noise(2000), "ü/日本.js": Sample.text(300),
    "empty.txt": [],
  ]

  static let writers: [[String]] = [
    ["sh", "-c", "zip -q -r \"$0\" ."],
    ["sh", "-c", "zip -q -0 -r \"$0\" ."],
    // To a pipe: every entry has a data descriptor.
    ["sh", "-c", "zip -q -r - . > \"$0\""],
    ["sh", "-c", "zip -q -fz -r - . > \"$0\""],
    ["sh", "-c", "bsdtar --format zip -cf \"$0\" *"],
    ["python3", "-m", "zipfile", "-c"],
    [
      "python3", "-c",
      """
      import sys, os, zipfile
      with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:
        for folder, _, names in os.walk('.'):
          for name in names:
            path = os.path.relpath(os.path.join(folder, name), '.')
            with z.open(path, 'w', force_zip64=True) as out: out.write(open(path, 'rb').read())
      """,
    ],
  ]

  @Test(arguments: writers) func archivesOfOtherProgramsAreRead(_ writer: [String]) throws {
    guard Tool.exists(writer[0]), !writer.joined().contains("bsdtar") || Tool.exists("bsdtar"),
      !writer.joined().contains("zip -q") || Tool.exists("zip")
    else { return }
    let folder = try Scratch()
    for (name, bytes) in Self.files {
      let path = "\(folder.path)/in/\(name)"
      try Kernel.makeFolder(DurableFile.parent(of: path))
      try bytes.save(to: path)
    }
    let zip = folder.path + "/out.zip"
    // `python3 -m zipfile -c` takes its files by name.
    let operands = writer.contains("-m") ? ["index.html", "img", "ü", "empty.txt"] : []
    #expect(try Tool.run(writer + [zip] + operands, in: folder.path + "/in") == 0)
    let archive = try Archive(ArchiveFile(zip))
    var read: [String: [UInt8]] = [:]
    for entry in archive.entries where !entry.isFolder {
      read[entry.name] = try archive.bytes(of: entry, limit: 9999)
    }
    #expect(read == Self.files)
    try Kernel.makeFolder(folder.path + "/unpacked")
    try archive.unpack(to: folder.path + "/unpacked") { $0.name != "empty.txt" }
    for (name, bytes) in Self.files {
      #expect(try DurableFile.read("\(folder.path)/unpacked/\(name)") == (name == "empty.txt" ? nil : bytes))
    }
  }

  @Test func linksAndEncryptedEntriesAreRefused() throws {
    guard Tool.exists("zip") else { return }
    let folder = try Scratch()
    try Sample.text(100).save(to: folder.path + "/a")
    symlink("a", folder.path + "/link")
    #expect(try Tool.run(["zip", "-q", "-y", "l.zip", "a", "link"], in: folder.path) == 0)
    #expect(try Tool.run(["zip", "-q", "-P", "secret", "p.zip", "a"], in: folder.path) == 0)
    #expect(refusal(try #require(try DurableFile.read(folder.path + "/l.zip"))) == "link")
    #expect(refusal(try #require(try DurableFile.read(folder.path + "/p.zip"))) == "encrypted")
  }
}
