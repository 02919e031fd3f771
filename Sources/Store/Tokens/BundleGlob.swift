import Manifests

/// Names of bundles with wildcards: `*` stands for any characters, `?` for one.
package struct BundleGlob: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  package var description: String { text }

  /// nil for a text that holds what no bundle's name does.
  package init?(_ text: String) {
    let wildcards = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
      default: byte < 0x80 && (Unicode.Scalar(byte).properties.isAlphabetic || (0x30...0x39).contains(byte))
      }
    }
    guard wildcards, (1...128).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  package func matches(_ name: BundleName) -> Bool {
    let glob = Array(text.utf8)
    let name = Array(name.text.utf8)
    // Where the last star stands and how much of the name it has swallowed: no need to go back further than that.
    var star: (glob: Int, name: Int)?
    var (g, n) = (0, 0)
    while n < name.count {
      if g < glob.count, glob[g] == UInt8(ascii: "*") {
        star = (g, n)
        g += 1
      } else if g < glob.count, glob[g] == UInt8(ascii: "?") || glob[g] == name[n] {
        g += 1
        n += 1
      } else if let last = star {
        star = (last.glob, last.name + 1)
        (g, n) = (last.glob + 1, last.name + 1)
      } else {
        return false
      }
    }
    return glob[g...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
