@testable import Archive

/// An archive made field by field, so that any of its fields can be wrong.
struct RawZip {
  struct Entry {
    var name: [UInt8]
    var localName: [UInt8]?
    var flags: RecordFlags = .utf8
    var method: UInt16 = 0
    var data: [UInt8]
    /// Of the uncompressed data.
    var crc: UInt32
    var size: UInt32
    var compressedSize: UInt32
    /// The values of the local header, where they differ from the directory's.
    var local: (crc: UInt32, size: UInt32, compressedSize: UInt32)?
    var attributes: UInt32 = UInt32(FileMode.plainFile) << 16
    var extra: [UInt8] = []
    var localExtra: [UInt8] = []
    /// The data descriptor, which follows the data.
    var descriptor: [UInt8] = []
    /// The offset in the directory; nil: the true one.
    var offset: UInt32?
    /// Only listed in the directory, without bytes of its own.
    var isPhantom = false
    var disk: UInt16 = 0

    init(_ name: String, _ text: String = "") {
      self.init(name, Array(text.utf8))
    }

    init(_ name: String, _ data: [UInt8], deflate: Bool = false) {
      self.name = Array(name.utf8)
      self.data = deflate ? data.withUnsafeBytes { Deflater().compress($0) } : data
      method = deflate ? 8 : 0
      crc = CRC32.of(data)
      size = UInt32(data.count)
      compressedSize = UInt32(self.data.count)
    }

    func with(_ change: (inout Entry) -> Void) -> Entry {
      var entry = self
      change(&entry)
      return entry
    }

    /// Local header, data and descriptor.
    var bytes: [UInt8] {
      var out: [UInt8] = []
      LocalFileHeader(
        versionNeeded: 20, flags: flags, method: method, crc: local?.crc ?? crc,
        compressedSize: local?.compressedSize ?? compressedSize, size: local?.size ?? size,
        nameLength: UInt16((localName ?? name).count), extraLength: UInt16(localExtra.count)
      ).append(to: &out)
      return out + (localName ?? name) + localExtra + data + descriptor
    }
  }

  var entries: [Entry]
  var before: [UInt8] = []
  /// Between the last entry and the directory.
  var gap: [UInt8] = []
  var comment: [UInt8] = []
  var changeEnd: (inout DirectoryEnd) -> Void = { _ in }
  /// Between directory and end.
  var beforeEnd: [UInt8] = []

  init(_ entries: [Entry]) { self.entries = entries }

  var bytes: [UInt8] {
    var out = before
    var directory: [UInt8] = []
    for entry in entries {
      let start = UInt32(out.count)
      if !entry.isPhantom { out += entry.bytes }
      var header = DirectoryHeader(
        LocalFileHeader(
          versionNeeded: 20, flags: entry.flags, method: entry.method, crc: entry.crc,
          compressedSize: entry.compressedSize, size: entry.size, nameLength: UInt16(entry.name.count),
          extraLength: UInt16(entry.extra.count)), offset: entry.offset ?? start)
      header.externalAttributes = entry.attributes
      header.disk = entry.disk
      header.append(to: &directory)
      directory += entry.name + entry.extra
    }
    out += gap
    var end = DirectoryEnd(
      count: UInt16(entries.count), directorySize: UInt32(directory.count), directoryOffset: UInt32(out.count)
    )
    end.commentLength = UInt16(comment.count)
    changeEnd(&end)
    out += directory + beforeEnd
    end.append(to: &out)
    return out + comment
  }
}
