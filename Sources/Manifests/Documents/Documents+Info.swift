import System

extension Documents {
  /// info.json, for clients that know only file lists.
  ///
  /// - Parameters:
  ///   - urls: the URLs of a manifest, sorted, as their bytes: none has one that JSON would escape.
  ///   - digest: the manifest's.
  package static func info(_ urls: [ArraySlice<UInt8>], digest: SHA256) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(urls.reduce(64) { $0 + $1.count + 3 })
    out += "{\"files\":[".utf8
    for (index, url) in urls.enumerated() {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(UInt8(ascii: "\""))
      out += url
      out.append(UInt8(ascii: "\""))
    }
    out += "],\"version\":\"\(digest.hex.prefix(20))\"}".utf8
    return out
  }
}
