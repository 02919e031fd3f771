import Manifests
import System

extension RemoteBundle {
  /// The bundle in the cache's format: version, types with headers, fallbacks and laziness, entries.
  var cached: [UInt8] {
    Self.cached(Self.cachedEntries(entries), at: version)
  }

  /// Returns the cache's format for entries that were encoded before their version was known.
  static func cached(_ entries: [UInt8], at version: ManifestVersion) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(8 + entries.count)
    ByteCoding.append(UInt64(version.number), to: &out)
    out.append(contentsOf: entries)
    return out
  }

  /// Encodes the part after the version.
  static func cachedEntries(_ entries: [Entry]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(entries.count * 160)
    let forms = Array(Set(entries.map(\.form))).sorted {
      ($0.ctype, $0.headers, $0.fallbacks, $0.isLazy ? 1 : 0) < (
        $1.ctype, $1.headers, $1.fallbacks, $1.isLazy ? 1 : 0
      )
    }
    ByteCoding.append(UInt64(forms.count), to: &out)
    for form in forms {
      ByteCoding.append(form.ctype, to: &out)
      ByteCoding.append(form.headers, to: &out)
      ByteCoding.append(form.fallbacks, to: &out)
      ByteCoding.append(form.isLazy ? "lazy" : "", to: &out)
    }
    let numbers = Dictionary(uniqueKeysWithValues: zip(forms, UInt64(0)...))
    ByteCoding.append(UInt64(entries.count), to: &out)
    for entry in entries {
      ByteCoding.append(entry.url, to: &out)
      ByteCoding.append(numbers[entry.form] ?? 0, to: &out)
      ByteCoding.append(UInt64(entry.size), to: &out)
      entry.md5.withBytes { out.append(contentsOf: $0) }
      entry.sha256.withBytes { out.append(contentsOf: $0) }
    }
    return out
  }

  /// Decodes what `cached` wrote; nil for anything else.
  init?(cached bytes: [UInt8]) {
    let read = bytes.withUnsafeBytes { buffer -> RemoteBundle? in
      var reader = ByteReader(buffer)
      guard let version = reader.integer(), version >= 0, let forms = RemoteBundle.forms(&reader),
        let count = reader.integer()
      else { return nil }
      var entries: [Entry] = []
      entries.reserveCapacity(Int(min(max(0, count), Int64(buffer.count) / 80)))
      for _ in 0..<max(0, count) {
        guard let entry = RemoteBundle.entry(&reader, forms) else { return nil }
        entries.append(entry)
      }
      return reader.isAtEnd ? RemoteBundle(version: ManifestVersion(version), entries: entries) : nil
    }
    guard let read else { return nil }
    self = read
  }

  private static func forms(_ reader: inout ByteReader) -> [Entry.Form]? {
    guard let count = reader.integer() else { return nil }
    var forms: [Entry.Form] = []
    for _ in 0..<max(0, count) {
      guard let ctype = reader.text(), let headers = reader.text(), let fallbacks = reader.text(),
        let lazy = reader.text()
      else { return nil }
      forms.append(
        Entry.Form(ctype: ctype, headers: headers, fallbacks: fallbacks, isLazy: !lazy.isEmpty))
    }
    return forms
  }

  private static func entry(_ reader: inout ByteReader, _ forms: [Entry.Form]) -> Entry? {
    guard let url = reader.text(), let form = reader.integer(), forms.indices.contains(Int(form)),
      let size = reader.integer(),
      let md5 = reader.take(MD5.byteCount).flatMap({ MD5(bytes: $0.bytes) }),
      let sha256 = reader.take(SHA256.byteCount).flatMap({ SHA256(bytes: $0.bytes) })
    else { return nil }
    return Entry(url: url, form: forms[Int(form)], md5: md5, sha256: sha256, size: size)
  }
}
