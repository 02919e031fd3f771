import Manifests

/// Groups the files that the origin lacks into requests: small ones packed, large ones alone.
struct UploadPlan {
  enum Unit: Sendable {
    case file(HashedFile)
    case pack([HashedFile])
  }

  /// Files below this many bytes are packed: a request each would cost more than their bytes.
  static let packed: Int64 = 65_536
  /// Bytes of a pack, which is held in memory: at most this, and at least `packFloor` where there is as much.
  static let packCeiling: Int64 = 4 << 20
  static let packFloor: Int64 = 256 << 10

  /// Files by falling size, then packs: what takes longest begins first.
  let units: [Unit]
  let bytes: Int64

  /// - Parameters:
  ///   - files: each content once.
  ///   - connections: among how many the packs are to be shared out.
  init(_ files: [HashedFile], connections: Int) {
    let (large, small) = files.reduce(into: ([HashedFile](), [HashedFile]())) { parts, file in
      if file.digest.size < UploadPlan.packed { parts.1.append(file) } else { parts.0.append(file) }
    }
    let share = small.reduce(0) { $0 + $1.digest.size } / Int64(max(1, connections)) + 1
    let room = min(UploadPlan.packCeiling, max(UploadPlan.packFloor, share))
    var packs: [[HashedFile]] = []
    var filled: Int64 = 0
    for file in small {
      if packs.isEmpty || filled + file.digest.size > room {
        packs.append([])
        filled = 0
      }
      packs[packs.count - 1].append(file)
      // Each file also costs a line that names it.
      filled += file.digest.size + 128
    }
    units = large.sorted { $0.digest.size > $1.digest.size }.map { .file($0) } + packs.map { .pack($0) }
    bytes = files.reduce(0) { $0 + $1.digest.size }
  }
}
