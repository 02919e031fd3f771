/// A document around a part that is rendered already: a large manifest is sent without being copied into it.
package struct DocumentFrame: Hashable, Sendable {
  package let prefix: [UInt8]
  package let suffix: [UInt8]

  package func around(_ middle: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(prefix.count + middle.count + suffix.count)
    out.append(contentsOf: prefix)
    out.append(contentsOf: middle)
    out.append(contentsOf: suffix)
    return out
  }
}
