import Archive
import Manifests
import System
import Trust
import Values

/// A zip that is built into an app, or was fetched by other means: `bundle/553.zip`, `bundle/552-553.zip` or
/// `bundle/552-553.delta.zip` (docs/protocol.md §9).
struct Preset: Sendable {
  private let path: String
  private let archive: Archive
  private let answer: ConfigureAnswer

  /// Opens a zip and reads its manifest, of at most `manifestLimit` bytes.
  init(_ path: String, manifestLimit: Int64) throws(DeviceError) {
    self.path = path
    do {
      archive = try Archive(ArchiveFile(path))
      let document = archive[BundleZip.manifestName] ?? archive[BundleZip.patchName]
      guard let document else { throw DeviceError.preset(path: path, reason: "it contains no manifest") }
      answer = try ConfigureAnswer.parse(archive.bytes(of: document, limit: Int(clamping: manifestLimit)))
    } catch {
      throw Self.error(error, path)
    }
  }

  /// Returns the manifest version that the zip leads to, and its index; nil if that isn't newer than the held
  /// one, except for an older one with `isOlder`.
  /// - Throws: `preset`, also for an update from a version other than the held one.
  func index(
    over held: DeviceIndex, isOlder: Bool = false
  ) throws(DeviceError) -> (version: ManifestVersion, index: DeviceIndex?) {
    do {
      switch answer {
      case .whole(let answer):
        guard answer.version > held.version else {
          guard isOlder, answer.version < held.version else { return (answer.version, nil) }
          return (answer.version, try index(answer.manifest(), answer.digest, held.hosts))
        }
        return (answer.version, try index(answer.manifest(), answer.digest, held.hosts))
      case .patch(let answer):
        guard answer.version > held.version else { return (answer.version, nil) }
        guard answer.base == held.version else {
          let holds = held.version == .none ? "nothing yet" : "version \(held.version)"
          throw refused("it updates version \(answer.base), but the device has \(holds)")
        }
        let manifest = try held.manifest.applying(answer)
        return (answer.version, try index(manifest, answer.digest, held.hosts))
      case .upToDate, .pack, .failure: throw refused("its manifest is invalid")
      }
    } catch {
      throw Self.error(error, path)
    }
  }

  /// - Throws: `preset`, if it has nothing for the app's hosts, and so is another app's.
  private func index(
    _ manifest: Manifest, _ digest: SHA256, _ hosts: HostList
  ) throws -> DeviceIndex {
    let index = try DeviceIndex(manifest, digest: digest, hosts: hosts)
    if index.entries.isEmpty, let foreign = index.foreign {
      throw refused(
        "all its files are on hosts that aren't the app's, such as \(foreign.host); is it for another app?"
      )
    }
    return index
  }

  /// The statements in the zip.
  func statements() throws(DeviceError) -> AnswerTrust {
    do {
      return try AnswerTrust(answer.trust, url: path)
    } catch {
      throw refused("its signed statements can't be read")
    }
  }

  /// The number of the newest root when the zip was made; nil in an app without one.
  var root: Int64? { answer.extras.root }

  /// The deltas in the zip.
  var offers: [DeltaOffer] { if case .patch(let answer) = answer { answer.deltas } else { [] } }

  /// The origin's zips that lead to the same version without deltas.
  private var wholeZips: String {
    guard case .patch(let answer) = answer else { return "a zip without deltas" }
    return "\(answer.base)-\(answer.version).zip or \(answer.version).zip"
  }

  /// Whether the zip has all bytes of an entry's file.
  func hasFile(of entry: HeldEntry) -> Bool { archive[BundleZip.path(ofFile: entry.name.text)] != nil }

  /// Writes an entry's verified file to `target`: unpacked from the zip, or made from a delta in it.
  func extract(
    _ entry: HeldEntry, to target: String, in folder: CacheFolder, _ deltas: DeltaTable
  ) throws(DeviceError) {
    let part = folder.incoming()
    do throws(DeviceError) {
      if let packed = archive[BundleZip.path(ofFile: entry.name.text)] {
        try write(packed, of: entry, to: part)
      } else if let packed = archive[BundleZip.path(ofDelta: entry.name.text)] {
        try make(entry, of: packed, deltas, into: part)
      } else {
        throw refused("it doesn't contain \(entry.url)")
      }
      try folder.move(part, to: target)
    } catch {
      try folder.remove(part)
      throw error
    }
  }

  private func make(
    _ entry: HeldEntry, of packed: Archive.Entry, _ deltas: DeltaTable, into part: String
  ) throws(DeviceError) {
    let delta: [UInt8]
    do {
      // An origin never makes a delta larger than its file.
      delta = try archive.bytes(of: packed, limit: Int(clamping: entry.size))
    } catch {
      throw Self.error(error, path)
    }
    guard deltas.make(entry, of: delta, into: part) else {
      throw .presetDelta(path: path, url: entry.url.text, instead: wholeZips)
    }
  }

  private func write(_ packed: Archive.Entry, of entry: HeldEntry, to part: String) throws(DeviceError) {
    let file = try onDisk(part) { () throws(SystemError) in
      try Kernel.open(part, [.write, .create, .exclusive, .noFollow])
    }
    var hasher = FileHasher()
    do {
      try archive.read(packed) { bytes throws(ArchiveError) in
        hasher.update(bytes)
        do throws(SystemError) {
          try Kernel.write(bytes, to: file, path: part)
        } catch {
          throw .system(error)
        }
      }
    } catch {
      throw Self.error(error, part)
    }
    guard hasher.finish() == entry.bytes else {
      throw refused("its bytes of \(entry.url) differ from its manifest")
    }
  }

  func refused(_ reason: String) -> DeviceError { .preset(path: path, reason: reason) }

  private static func error(_ error: any Error, _ path: String) -> DeviceError {
    switch error {
    case let error as DeviceError: error
    case let error as SystemError: DeviceError(error, path: path)
    case ArchiveError.system(let error): DeviceError(error, path: path)
    case let error as ArchiveError: .preset(path: path, reason: error.description)
    default: .preset(path: path, reason: "its manifest is damaged (\(error))")
    }
  }
}
