import Platform

/// How much of the disk the zips of all channels may take.
package enum ZipRoom: Hashable, Sendable {
  /// Per cent of what is free, what zips take already counted as free.
  case share(Int)
  case bytes(Int64)

  package static let standard = ZipRoom.share(10)
  package static let shares = 1...90

  /// What stays free whatever is asked for, so that there is room to publish: a twentieth of the disk, 10 GiB at most.
  static func reserve(on disk: DiskSpace) -> Int64 { min(disk.size / 20, 10 << 30) }

  /// Bytes that zips may take on a disk of which they take `used` at present.
  func limit(on disk: DiskSpace, used: Int64) -> Int64 {
    let (sum, overflows) = disk.available.addingReportingOverflow(used)
    let free = overflows ? .max : sum
    let wanted =
      switch self {
      case .share(let percent): free / 100 * Int64(percent)
      case .bytes(let bytes): bytes
      }
    return max(0, min(wanted, free - Self.reserve(on: disk)))
  }
}
