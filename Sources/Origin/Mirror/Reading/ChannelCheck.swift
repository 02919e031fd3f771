import Manifests
import System

/// Checks the documents of a channel against each other.
struct ChannelCheck {
  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader
  private(set) var divergences: [Divergence] = []
  /// The types of resources according to the manifests, by path.
  private(set) var types: [String: String] = [:]

  init(_ channel: MirrorIndex.Channel, _ reader: any MirrorReader) {
    self.channel = channel
    self.reader = reader
  }

  mutating func run() throws(MirrorError) {
    var listed: [String: MirrorIndex.File] = [:]
    for (path, file) in channel.files { listed[path] = file }
    let newest = try manifest("configure.json", channel.version)
    let answer = try answer("version.json")
    let candidate = try candidate(of: answer)
    if let candidate { checkDownloads(candidate, "configure/\(candidate.version).json", listed) }
    if let newest, newest.map.digest != channel.digest {
      add("configure.json", .document("its digest isn't the one that mirror.json names"))
    }
    for version in channel.versions {
      guard let manifest = try manifest("configure/\(version).json", version) else { continue }
      checkDownloads(manifest, "configure/\(version).json", listed)
      if let candidate {
        try checkPatch(from: manifest, to: candidate, candidate.version, listed)
        try checkUpdate(from: manifest, to: candidate, (candidate.version, candidate.map.digest), listed)
      }
      if version != channel.version {
        try checkPatch(from: manifest, to: newest, channel.version, listed)
        try checkUpdate(from: manifest, to: newest, (channel.version, channel.digest), listed)
      }
    }
    if let newest { checkDownloads(newest, "configure.json", listed) }
    if let answer { checkVersion(answer) }
  }

  /// The manifest of the candidate that `version.json` names; nil if no rollout is open, or one of the two can't be read, which is a
  /// divergence.
  private mutating func candidate(of answer: ConfigureAnswer?) throws(MirrorError) -> Manifest? {
    guard let rollout = answer?.extras.rollout else { return nil }
    return try manifest("configure/\(rollout.version).json", rollout.version)
  }

  private mutating func add(_ name: String, _ kind: Divergence.Kind) {
    divergences.append(Divergence(path: "\(channel.folder)/\(name)", kind: kind))
  }

  private mutating func answer(_ name: String) throws(MirrorError) -> ConfigureAnswer? {
    let found: [UInt8]?
    do throws(MirrorError) {
      found = try reader.read("\(channel.folder)/\(name)")
    } catch {
      guard let refusal = error.refusal else { throw error }
      add(name, refusal)
      return nil
    }
    guard let bytes = found else {
      add(name, .missing)
      return nil
    }
    do {
      return try ConfigureAnswer.parse(bytes)
    } catch {
      add(name, .document(error.description))
      return nil
    }
  }

  private mutating func manifest(_ name: String, _ version: ManifestVersion) throws(MirrorError) -> Manifest?
  {
    guard let answer = try answer(name) else { return nil }
    guard case .whole(let whole) = answer else {
      add(name, .document("it is not a whole manifest"))
      return nil
    }
    if whole.version != version {
      add(name, .document("it is version \(whole.version), not \(version)"))
      return nil
    }
    do {
      return try whole.manifest()
    } catch {
      add(name, .document(error.description))
      return nil
    }
  }

  /// Each download must be a file of the mirror, "mapped by their path below the public URL".
  private mutating func checkDownloads(
    _ manifest: Manifest, _ name: String, _ listed: [String: MirrorIndex.File]
  ) {
    for item in manifest.items {
      guard let path = DownloadPlace(item.entry.download)?.path.filePath else {
        add(name, .outside(download: item.entry.download))
        continue
      }
      types[path] = item.entry.ctype
      if listed[path] != MirrorIndex.File(sha256: item.entry.sha256, size: item.entry.size) {
        add(name, .unlisted(download: item.entry.download))
      }
    }
  }

  /// - Parameter version: the version of `newest`, which is nil if it can't be read.
  private mutating func checkPatch(
    from base: Manifest, to newest: Manifest?, _ version: ManifestVersion,
    _ listed: [String: MirrorIndex.File]
  ) throws(MirrorError) {
    let name = "patch/\(base.version)-\(version).json"
    guard let answer = try answer(name) else { return }
    guard case .patch(let patch) = answer else { return add(name, .document("it is not a patch")) }
    for offer in patch.deltas
    where listed[DeltaPath(download: offer.download)?.text ?? ""]?.size != offer.size {
      add(name, .unlisted(download: offer.download))
    }
    do {
      if let newest, try base.applying(patch) != newest {
        add(
          name,
          .document(
            "it doesn't lead to \(version == channel.version ? "configure.json" : "configure/\(version).json")'s manifest"
          ))
      }
    } catch {
      add(name, .document(error.description))
    }
  }

  /// Not every step has a pack; one that is listed must lead to the same result as its patch.
  private mutating func checkUpdate(
    from base: Manifest, to newest: Manifest?, _ end: (version: ManifestVersion, digest: SHA256),
    _ listed: [String: MirrorIndex.File]
  ) throws(MirrorError) {
    let name = "update/\(base.version)-\(end.version).json"
    guard listed["\(channel.folder)/\(name)"] != nil, let answer = try answer(name) else { return }
    guard case .pack(let update) = answer else { return add(name, .document("it names no pack")) }
    guard update.base == base.version, update.version == end.version, update.digest == end.digest
    else { return add(name, .document("it is about other versions than its name says")) }
    guard let path = PackPath(download: update.pack.download), let file = listed[path.text],
      file.size == update.pack.size, file.sha256.hex.hasPrefix(path.mark)
    else { return add(name, .unlisted(download: update.pack.download)) }
    // Packs that are missing or have other bytes are reported when all files are read.
    guard let newest, let bytes = try? reader.read(path.text), SHA256.of(bytes) == file.sha256 else { return }
    let check = PackCheck(base: base, newest: newest)
    if let fault = check.fault(of: bytes, digests: (base.map.digest, update.digest)) {
      add(name, .document(fault))
    }
  }

  private mutating func checkVersion(_ answer: ConfigureAnswer) {
    guard case .upToDate(let version, _) = answer else {
      return add("version.json", .document("it is not a version document"))
    }
    if version != channel.version {
      add("version.json", .document("it says version \(version), and configure.json is \(channel.version)"))
    }
  }
}
