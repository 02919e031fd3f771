import Manifests
import Store
import System
import Trust

/// Which roots devices of a copy's channels have.
struct ExpectedRoots: Sendable {
  /// The roots that apps are built with, as far as they are given.
  var builtIn: [AppName: Signed<TrustRoot>] = [:]
  /// The apps that have a root.
  var apps: Set<AppName> = []
  /// Milliseconds since 1970.
  var now = Clock.unixMilliseconds()

  /// - Parameters:
  ///   - given: the roots that apps are built with.
  ///   - index: the copy; a channel of it tells whether its app has a root.
  init(_ given: [Signed<TrustRoot>], in index: MirrorIndex) {
    for root in given { builtIn[root.document.app] = root }
    apps = Set(builtIn.keys)
    for channel in index.channels where !apps.contains(channel.app) {
      let first = "\(channel.folder)/\(MirrorDocument.root(1).path)"
      if channel.trust != nil || channel.files.contains(where: { $0.path == first }) {
        apps.insert(channel.app)
      }
    }
  }
}

/// Checks the documents of a channel against each other, and as devices with a root do.
struct ChannelCheck {
  private let channel: MirrorIndex.Channel
  private let reader: any MirrorReader
  private let roots: ExpectedRoots
  /// `head.json`, in place of the copy's.
  private let head: [UInt8]?
  private var trust: TrustReading?
  /// The first pack that the newest manifest names.
  private var first: PackOffer?
  private(set) var divergences: [Divergence] = []
  /// The types of resources according to the manifests, by path.
  private(set) var types: [String: String] = [:]

  init(
    _ channel: MirrorIndex.Channel, _ reader: any MirrorReader, _ roots: ExpectedRoots, head: [UInt8]? = nil
  ) {
    self.channel = channel
    self.reader = reader
    self.roots = roots
    self.head = head
  }

  mutating func run() throws(MirrorError) {
    var listed: [String: MirrorIndex.File] = [:]
    for (path, file) in channel.files { listed[path] = file }
    let answer = try answer("version.json")
    try beginTrust(answer)
    let newest = try manifest("configure.json", channel.version) { $0.check(newest: $1) }
    let candidate = try candidate(of: answer)
    if let candidate { checkDownloads(candidate, "configure/\(candidate.version).json", listed) }
    if let newest, newest.map.digest != channel.digest {
      add("configure.json", .document("its digest isn't the one that mirror.json names"))
    }
    for version in channel.versions {
      let name = "configure/\(version).json"
      var base: [UInt8]?
      guard let manifest = try manifest(name, version, { base = $1.trust }) else { continue }
      checkDownloads(manifest, name, listed)
      if let candidate, !Self.crossesRebase(from: manifest, to: candidate) {
        try checkPatch(from: manifest, to: candidate, candidate.version, listed, base)
        try checkUpdate(
          from: manifest, to: candidate, (candidate.version, candidate.map.digest), listed, base)
      }
      if version != channel.version, newest.map({ !Self.crossesRebase(from: manifest, to: $0) }) ?? true {
        try checkPatch(from: manifest, to: newest, channel.version, listed, base)
        try checkUpdate(from: manifest, to: newest, (channel.version, channel.digest), listed, base)
      }
    }
    if let newest {
      checkDownloads(newest, "configure.json", listed)
      checkFirst(of: newest, listed)
    }
    if let answer { checkVersion(answer) }
    try trust?.checkPolicy()
    try trust?.checkPrefetch(.prefetch(0))
    if let version = answer?.extras.rollout?.prefetch {
      try trust?.checkPrefetch(.candidatePrefetch(version))
    }
    divergences += trust?.divergences ?? []
  }

  /// What devices have to judge the head by; nil without a root, or if there is none that they take.
  var newestHead: TrustHead? { trust?.head }
  /// The root in force; nil if there is none.
  var root: TrustRoot? { trust?.fresh.root }

  /// Reads the roots and the head, if devices of the app have a root.
  private mutating func beginTrust(_ answer: ConfigureAnswer?) throws(MirrorError) {
    guard let answer else { return }
    guard let root = answer.extras.root else {
      if roots.apps.contains(channel.app) { add("version.json", .noRoot) }
      return
    }
    trust = try TrustReading(
      channel, reader, builtIn: roots.builtIn[channel.app], root: root, head: head, now: roots.now,
      &divergences)
  }

  /// Whether only the later one of two manifests names its bundles: then no patch leads to it.
  private static func crossesRebase(from base: Manifest, to newest: Manifest) -> Bool {
    func names(_ manifest: Manifest) -> Bool { manifest.items.first?.entry.bundle != nil }
    return base.items.isEmpty ? names(newest) : !names(base) && names(newest)
  }

  /// The manifest of the candidate that `version.json` names; nil if no rollout is open, or one of the two can't be read, which is a
  /// divergence.
  private mutating func candidate(of answer: ConfigureAnswer?) throws(MirrorError) -> Manifest? {
    guard let rollout = answer?.extras.rollout else { return nil }
    return try manifest("configure/\(rollout.version).json", rollout.version) { $0.check(candidate: $1) }
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

  /// - Parameter body: called with what devices check, in a channel with a root.
  private mutating func manifest(
    _ name: String, _ version: ManifestVersion,
    _ body: (inout TrustReading, TrustReading.Answer) -> Void
  ) throws(MirrorError) -> Manifest? {
    guard let answer = try answer(name) else { return nil }
    guard case .whole(let whole) = answer else {
      add(name, .document("it is not a whole manifest"))
      return nil
    }
    if whole.version != version {
      add(name, .document("it is version \(whole.version), not \(version)"))
      return nil
    }
    if version == channel.version, let offer = whole.first { first = offer }
    do {
      let manifest = try whole.manifest()
      trust(answer, name, manifest, body)
      return manifest
    } catch {
      add(name, .document(error.description))
      return nil
    }
  }

  private mutating func trust(
    _ answer: ConfigureAnswer, _ name: String, _ manifest: Manifest,
    _ body: (inout TrustReading, TrustReading.Answer) -> Void
  ) {
    guard var reading = trust else { return }
    let root = answer.extras.root.flatMap { RootNumber($0) }
    body(&reading, TrustReading.Answer(name: name, manifest: manifest, root: root, trust: answer.trust))
    trust = reading
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
    _ listed: [String: MirrorIndex.File], _ statements: [UInt8]?
  ) throws(MirrorError) {
    let name = "patch/\(base.version)-\(version).json"
    guard let answer = try answer(name) else { return }
    guard case .patch(let patch) = answer else { return add(name, .document("it is not a patch")) }
    if let newest { trust(answer, name, newest) { $0.check(step: $1, from: statements) } }
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
    _ listed: [String: MirrorIndex.File], _ statements: [UInt8]?
  ) throws(MirrorError) {
    let name = "update/\(base.version)-\(end.version).json"
    guard listed["\(channel.folder)/\(name)"] != nil, let answer = try answer(name) else { return }
    guard case .pack(let update) = answer else { return add(name, .document("it names no pack")) }
    guard update.base == base.version, update.version == end.version, update.digest == end.digest
    else { return add(name, .document("it is about other versions than its name says")) }
    guard let path = PackPath(download: update.pack.download), let file = listed[path.text],
      file.size == update.pack.size, file.sha256.hex.hasPrefix(path.mark)
    else { return add(name, .unlisted(download: update.pack.download)) }
    if let newest { trust(answer, name, newest) { $0.check(step: $1, from: statements) } }
    // Packs that are missing or have other bytes are reported when all files are read.
    guard let newest, let bytes = try? reader.read(path.text), SHA256.of(bytes) == file.sha256 else { return }
    let check = PackCheck(base: base, newest: newest)
    if let fault = check.fault(of: bytes, digests: (base.map.digest, update.digest)) {
      add(name, .document(fault))
    }
  }

  /// The first pack must be a file of the mirror, and its files those of the newest manifest, as far as that has them.
  private mutating func checkFirst(of newest: Manifest, _ listed: [String: MirrorIndex.File]) {
    guard let first else { return }
    guard let path = PackPath(download: first.download), path.isFirst, let file = listed[path.text],
      file.size == first.size, file.sha256.hex.hasPrefix(path.mark)
    else { return add("configure.json", .unlisted(download: first.download)) }
    guard let bytes = try? reader.read(path.text), SHA256.of(bytes) == file.sha256 else { return }
    if let fault = FirstPackCheck(newest).fault(of: bytes, version: path.version) {
      add("configure.json", .document(fault))
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
