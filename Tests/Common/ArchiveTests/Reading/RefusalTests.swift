import Testing

@testable import Archive

/// Archives with one wrong field each, and the error that each is refused with.
@Suite struct RefusalTests {
  typealias Entry = RawZip.Entry

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let refusal: String?
    let make: @Sendable () -> [UInt8]

    init(_ name: String, _ refusal: String?, _ make: @escaping @Sendable () -> RawZip) {
      self.name = name
      self.refusal = refusal
      self.make = { make().bytes }
    }

    init(_ name: String, _ refusal: String?, _ entries: @escaping @autoclosure @Sendable () -> [Entry]) {
      self.init(name, refusal) { RawZip(entries()) }
    }

    var testDescription: String { name }
  }

  static func zip(_ change: (inout RawZip) -> Void) -> RawZip {
    var zip = RawZip([Entry("a.txt", "alpha"), Entry("b.txt", Sample.text(400), deflate: true)])
    change(&zip)
    return zip
  }

  static func deep(_ folders: Int) -> String { String(repeating: "a/", count: folders) }

  static let names: [Case] = [
    Case("plain", nil, [Entry("a", "x"), Entry("b/c d.txt", "x"), Entry("ü/日本.js", "x"), Entry("...", "x")]),
    Case("folder", nil, [Entry("a/"), Entry("a/b", "x")]),
    Case("empty name", "name empty", [Entry("", "x")]),
    Case("absolute", "name absolute", [Entry("/etc/passwd", "x")]),
    Case("drive", "name absolute", [Entry("C:/x", "x")]),
    Case("up", "name dots", [Entry("../x", "x")]),
    Case("up inside", "name dots", [Entry("a/../../x", "x")]),
    Case("here", "name dots", [Entry("./x", "x")]),
    Case("empty part", "name dots", [Entry("a//x", "x")]),
    Case("only a slash", "name absolute", [Entry("/")]),
    Case("backslash", "name backslash", [Entry("a\\x", "x")]),
    Case("NUL", "name control", [Entry("a\0.png", "x")]),
    Case("line feed", "name control", [Entry("a\nb", "x")]),
    Case("not UTF-8", "name notUTF8", [Entry("a", "x").with { $0.name = [0x66, 0xFC, 0x72] }]),
    Case("a long name", nil, [Entry(deep(127) + String(repeating: "b", count: 255), "x")]),
    Case("too deep", "name tooDeep", [Entry(deep(128) + "b", "x")]),
    Case("too long a part", "name tooLong", [Entry(String(repeating: "b", count: 256), "x")]),
    Case("too long a folder", "name tooLong", [Entry(String(repeating: "b", count: 256) + "/x", "x")]),
    Case("too long", "name tooLong", [Entry(String(repeating: deep(120) + "b/", count: 17) + "x", "x")]),
    Case("twice", "sameName", [Entry("a", "x"), Entry("a", "y")]),
    Case("twice, normalised differently", "sameName", [Entry("\u{E9}", "x"), Entry("e\u{301}", "y")]),
    Case("file and folder", "sameName", [Entry("a", "x"), Entry("a/", "")]),
    Case("file and file below it", "sameName", [Entry("a", "x"), Entry("a/b/c", "y")]),
    Case(
      "local name differs", "damaged localHeader", [Entry("a", "x").with { $0.localName = Array("b".utf8) }]),
    Case(
      "local name longer", "damaged localHeader", [Entry("a", "x").with { $0.localName = Array("ab".utf8) }]),
  ]

  static let kinds: [Case] = [
    Case("link", "link", [Entry("a", "/etc/passwd").with { $0.attributes = 0o120_777 << 16 }]),
    Case("device", "notAFile", [Entry("a").with { $0.attributes = 0o020_644 << 16 }]),
    Case("pipe", "notAFile", [Entry("a").with { $0.attributes = 0o010_644 << 16 }]),
    Case("folder without slash", "notAFile", [Entry("a").with { $0.attributes = 0o040_755 << 16 }]),
    Case("no mode", nil, [Entry("a", "x").with { $0.attributes = 0 }]),
    Case("encrypted", "encrypted", [Entry("a", "x").with { $0.flags = [.utf8, .encrypted] }]),
    Case("strongly encrypted", "encrypted", [Entry("a", "x").with { $0.flags = .stronglyEncrypted }]),
    Case("masked", "encrypted", [Entry("a", "x").with { $0.flags = .masked }]),
    Case("patch", "unknownMethod", [Entry("a", "x").with { $0.flags = .patch }]),
    Case("bzip2", "unknownMethod", [Entry("a", "x").with { $0.method = 12 }]),
    Case("deflate64", "unknownMethod", [Entry("a", "x").with { $0.method = 9 }]),
    Case("another disk", "severalDisks", [Entry("a", "x").with { $0.disk = 1 }]),
  ]

  static let sizes: [Case] = [
    Case("folder with bytes", "wrongSize", [Entry("a/", "x")]),
    Case("stored, sizes differ", "wrongSize", [Entry("a", "xyz").with { $0.size = 2 }]),
    Case("size too small", "wrongSize", [Entry("a", Sample.text(900), deflate: true).with { $0.size = 899 }]),
    Case("size too large", "wrongSize", [Entry("a", Sample.text(900), deflate: true).with { $0.size = 901 }]),
    Case(
      "size larger than deflate can give", "wrongSize",
      [Entry("a", Sample.text(900), deflate: true).with { $0.size = 4_000_000 }]),
    Case(
      "packed bytes cut", "damaged data",
      [Entry("a", Sample.text(900), deflate: true).with { $0.compressedSize -= 1 }]),
    Case(
      "packed bytes beyond the stream", "damaged data",
      [
        Entry("a", Sample.text(900), deflate: true).with {
          $0.data += [0, 0]
          $0.compressedSize += 2
        }
      ]),
    Case(
      "reaches into the directory", "damaged data",
      [
        Entry("a", "xyz").with {
          $0.size = 60
          $0.compressedSize = 60
        }
      ]),
    Case("checksum", "wrongChecksum", [Entry("a", "xyz").with { $0.crc ^= 1 }]),
    Case("local size", "damaged localHeader", [Entry("a", "xyz").with { $0.local = ($0.crc, 2, 3) }]),
    Case("local checksum", "damaged localHeader", [Entry("a", "xyz").with { $0.local = (7, 3, 3) }]),
    Case("begins outside", "damaged localHeader", [Entry("a", "xyz").with { $0.offset = 4_000_000_000 }]),
    Case("begins elsewhere", "damaged localHeader", [Entry("a", "xyz").with { $0.offset = 1 }]),
    Case(
      "size of a ZIP64 field that isn't there", "damaged zip64",
      [Entry("a", "xyz").with { $0.size = .max }]),
    Case(
      "ZIP64 field too short", "damaged zip64",
      [
        Entry("a", "xyz").with {
          $0.size = .max
          $0.extra = [1, 0, 4, 0, 3, 0, 0, 0]
        }
      ]),
    Case(
      "ZIP64 field of many exabytes", "wrongSize",
      [
        Entry("a", "xyz").with {
          $0.size = .max
          $0.extra = [1, 0, 8, 0] + [UInt8](repeating: 0xFF, count: 8)
        }
      ]),
  ]

  static let places: [Case] = [
    Case("one entry inside another", "overlap") {
      let inner = Entry("b", "inside")
      return RawZip([
        Entry("a", inner.bytes),
        inner.with {
          $0.isPhantom = true
          $0.offset = UInt32(LocalFileHeader.size + 1)
        },
      ])
    },
    Case("two entries at one offset", "sameName") {
      RawZip([
        Entry("a", "x"),
        Entry("a", "x").with {
          $0.isPhantom = true
          $0.offset = 0
        },
      ])
    },
    Case("wrong descriptor", "damaged descriptor") {
      RawZip([
        Entry("a", "xyz").with {
          $0.flags = [.utf8, .hasDescriptor]
          $0.local = (0, 0, 0)
          $0.descriptor = [1, 2, 3, 4, 3, 0, 0, 0, 3, 0, 0, 0]
        }
      ])
    },
    Case("descriptor missing", "damaged descriptor") {
      RawZip([
        Entry("a", "xyz").with {
          $0.flags = [.utf8, .hasDescriptor]
          $0.local = (0, 0, 0)
        }
      ])
    },
    Case("bytes between directory and end", "damaged directory") { zip { $0.beforeEnd = [1] } },
    Case("directory elsewhere", "damaged directory") { zip { $0.changeEnd = { $0.directoryOffset += 1 } } },
    Case("directory too short", "damaged directory") {
      zip {
        $0.changeEnd = {
          $0.directorySize -= 1
          $0.directoryOffset += 1
        }
      }
    },
    Case("fewer entries", "damaged directory") {
      zip {
        $0.changeEnd = {
          $0.count = 1
          $0.countOnDisk = 1
        }
      }
    },
    Case("more entries", "damaged directory") {
      zip {
        $0.changeEnd = {
          $0.count = 3
          $0.countOnDisk = 3
        }
      }
    },
    Case("another disk", "severalDisks") { zip { $0.changeEnd = { $0.disk = 1 } } },
    Case("entries on other disks", "severalDisks") { zip { $0.changeEnd = { $0.countOnDisk = 1 } } },
    Case("comment", nil) { zip { $0.comment = Array("a comment".utf8) } },
    Case("comment too long", "notAnArchive") { zip { $0.changeEnd = { $0.commentLength = 5 } } },
    Case("gap", nil) { zip { $0.gap = [1, 2, 3] } },
    Case("ZIP64 locator to nowhere", "damaged zip64") {
      zip {
        var locator: [UInt8] = []
        ZIP64Locator(offset: 1 << 40).append(to: &locator)
        $0.beforeEnd = locator
      }
    },
    Case("ZIP64 end with other values", "damaged zip64") {
      zip { zip in
        let place = UInt64(RawZip(zip.entries).bytes.count - DirectoryEnd.size)
        var records: [UInt8] = []
        ZIP64DirectoryEnd(count: 7, directorySize: 1, directoryOffset: 1).append(to: &records)
        ZIP64Locator(offset: place).append(to: &records)
        zip.beforeEnd = records
      }
    },
    Case("nothing", "notAnArchive") { zip { $0.changeEnd = { $0.commentLength = 1 } } },
  ]

  @Test(arguments: names + kinds + sizes + places)
  func wrongFieldsAreRefused(_ test: Case) {
    #expect(refusal(test.make()) == test.refusal)
  }

  @Test(arguments: [[], Array("PK".utf8), Array("hello, this is a text and no archive at all".utf8)])
  func bytesThatAreNoArchiveAreRefused(_ bytes: [UInt8]) { #expect(refusal(bytes) == "notAnArchive") }

  @Test func emptyArchivesAreRead() throws { #expect(try contents(RawZip([]).bytes).isEmpty) }

  @Test func dataDescriptorsOfEveryFormAreRead() throws {
    let crc = CRC32.of(Array("xyz".utf8))
    let descriptor = DataDescriptor(crc: crc, compressedSize: 3, size: 3)
    for isLong in [false, true] {
      var form: [UInt8] = []
      descriptor.append(to: &form, isLong: isLong)
      for form in [form, Array(form.dropFirst(4))] {
        let entry = Entry("a", "xyz").with {
          $0.flags = [.utf8, .hasDescriptor]
          $0.local = (0, 0, 0)
          $0.descriptor = form
        }
        #expect(
          try contents(RawZip([entry, Entry("b", "more")]).bytes) == [
            "a": Array("xyz".utf8), "b": Array("more".utf8),
          ])
      }
    }
  }

  @Test func unicodePathFieldReplacesTheName() throws {
    let raw: [UInt8] = [0x66, 0x81, 0x72]
    var field: [UInt8] = [1]
    field.append(number: CRC32.of(raw))
    field += Array("für".utf8)
    var extra: [UInt8] = []
    extra.append(number: ExtraFields.unicodePath)
    extra.append(number: UInt16(field.count))
    let entry = Entry("a", "x").with {
      $0.name = raw
      $0.flags = []
      $0.extra = extra + field
    }
    #expect(try contents(RawZip([entry]).bytes) == ["für": Array("x".utf8)])
  }

  @Test func everyErrorHasAMessage() {
    for test in Self.names + Self.kinds + Self.sizes + Self.places {
      do {
        _ = try contents(test.make())
      } catch {
        #expect("\(error)".count > 15, "\(test.name)")
      }
    }
  }
}
