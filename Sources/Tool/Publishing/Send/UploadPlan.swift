import Manifests

/// Groups the files that the origin lacks into requests: small ones packed together, large ones on their own.
struct UploadPlan {
  enum Unit: Sendable {
    case file(HashedFile)
    case pack([HashedFile])
  }

  /// Files smaller than this are packed: individual requests would cost more than their bytes.
  static let packed: Int64 = 65_536
  /// The maximum size of a pack, which is held in memory; `packFloor` is the minimum, if there is as much.
  static let packCeiling: Int64 = 4 << 20
  static let packFloor: Int64 = 256 << 10

  /// Files from the largest down, then packs: what takes longest starts first.
  let units: [Unit]
  let bytes: Int64

  /// Plans the upload of `files`, each content once, and divides the packs among `connections`.
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
      // Each file also needs a header line.
      filled += file.digest.size + 128
    }
    units = large.sorted { $0.digest.size > $1.digest.size }.map { .file($0) } + packs.map { .pack($0) }
    bytes = files.reduce(0) { $0 + $1.digest.size }
  }
}
