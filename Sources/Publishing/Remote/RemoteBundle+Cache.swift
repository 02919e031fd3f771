import Manifests
import System

extension RemoteBundle {
  /// The bundle as the cache keeps it: version, content types, entries.
  var cached: [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(entries.count * 160)
    ByteCoding.append(UInt64(version.number), to: &out)
    let ctypes = Array(Set(entries.map(\.ctype))).sorted()
    ByteCoding.append(UInt64(ctypes.count), to: &out)
    for ctype in ctypes { ByteCoding.append(ctype, to: &out) }
    let numbers = Dictionary(uniqueKeysWithValues: zip(ctypes, UInt64(0)...))
    ByteCoding.append(UInt64(entries.count), to: &out)
    for entry in entries {
      ByteCoding.append(entry.url, to: &out)
      ByteCoding.append(numbers[entry.ctype] ?? 0, to: &out)
      ByteCoding.append(UInt64(entry.size), to: &out)
      out.append(contentsOf: entry.md5.bytes)
      out.append(contentsOf: entry.sha256.bytes)
    }
    return out
  }

  /// Nil where `bytes` aren't what `cached` wrote.
  init?(cached bytes: [UInt8]) {
    let read = bytes.withUnsafeBytes { buffer -> RemoteBundle? in
      var reader = ByteReader(buffer)
      guard let version = reader.integer(), version >= 0, let ctypes = RemoteBundle.ctypes(&reader),
        let count = reader.integer()
      else { return nil }
      var entries: [Entry] = []
      entries.reserveCapacity(Int(min(max(0, count), Int64(buffer.count) / 80)))
      for _ in 0..<max(0, count) {
        guard let entry = RemoteBundle.entry(&reader, ctypes) else { return nil }
        entries.append(entry)
      }
      return reader.isAtEnd ? RemoteBundle(version: ManifestVersion(version), entries: entries) : nil
    }
    guard let read else { return nil }
    self = read
  }

  private static func ctypes(_ reader: inout ByteReader) -> [String]? {
    guard let count = reader.integer() else { return nil }
    var ctypes: [String] = []
    for _ in 0..<max(0, count) {
      guard let ctype = reader.text() else { return nil }
      ctypes.append(ctype)
    }
    return ctypes
  }

  private static func entry(_ reader: inout ByteReader, _ ctypes: [String]) -> Entry? {
    guard let url = reader.text(), let ctype = reader.integer(), ctypes.indices.contains(Int(ctype)),
      let size = reader.integer(),
      let md5 = reader.take(MD5.byteCount).flatMap({ MD5(bytes: $0.bytes) }),
      let sha256 = reader.take(SHA256.byteCount).flatMap({ SHA256(bytes: $0.bytes) })
    else { return nil }
    return Entry(url: url, ctype: ctypes[Int(ctype)], md5: md5, sha256: sha256, size: size)
  }
}
