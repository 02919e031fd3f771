import Manifests
import OriginAPI
import OriginClient
import System
import Trust
import Values

/// What a release signs: the bundles whose content devices haven't been told of, in an app with a root.
struct ReleaseSigning: Sendable {
  /// A bundle that is to be signed, or was by others.
  struct Bundle: Sendable {
    let name: BundleName
    /// The digest of what was read here.
    let content: SHA256
    /// The statement, without the signature that is made here.
    let statement: Signed<ReleaseStatement>
  }

  let bundles: [Bundle]
  /// Who signs; empty if others have.
  let signers: [any StatementSigner]
  /// The signatures that are missing, so that the release waits for them at the origin; empty if devices take what these sign.
  let lacking: [LackingSignatures]
  /// The release of the same files that waits for them already, so that none is made.
  var waiting: ScheduledInfo?

  /// - Parameters:
  ///   - files: the files of each bundle that is to be signed, ordered by URL.
  ///   - needsAll: whether there must be as many signatures as the root asks for.
  ///   - mayWait: the bundles that may have fewer all the same, since their release can wait for the others.
  init(
    _ files: [(bundle: BundleName, files: [BuildFile])], in channel: ChannelName, _ trust: PublisherTrust,
    _ options: SigningOptions, now: Int64, needsAll: Bool = true,
    mayWait: Set<BundleName> = []
  ) throws(TrustFault) {
    let given = try Self.given(options, in: channel, trust.root)
    signers = try options.signers(under: trust.root)
    let own = signers.map(\.key.id)
    var bundles: [Bundle] = []
    var lacking: [LackingSignatures] = []
    for (name, files) in files {
      let content = BundleContent.digest(of: files)
      let statement: Signed<ReleaseStatement>
      if let others = given[name] {
        statement = others
      } else {
        statement = try Signed(
          unsigned: trust.statement(of: name, content, in: channel, options, now: now))
      }
      guard statement.document.content == content else { throw .otherContent(name) }
      let keys = own + statement.releaseSigners(trust.root).filter { !own.contains($0) }
      let urls = files.flatMap(\.places)
      let missing = mayWait.contains(name) ? trust.lacking(name, urls: urls, in: channel, after: keys) : nil
      try trust.check(
        name, urls: urls, in: statement.document.channels, by: keys, needsAll: needsAll && missing == nil)
      if let missing { lacking.append(missing) }
      bundles.append(Bundle(name: name, content: content, statement: statement))
    }
    self.bundles = bundles
    self.lacking = lacking
  }

  /// Returns the statements that others have signed, by bundle.
  private static func given(
    _ options: SigningOptions, in channel: ChannelName, _ root: TrustRoot
  ) throws(TrustFault) -> [BundleName: Signed<ReleaseStatement>] {
    var given: [BundleName: Signed<ReleaseStatement>] = [:]
    for signed in options.given {
      let statement = signed.document
      guard statement.app == root.app, statement.environment == root.environment,
        statement.channels.contains(channel), given[statement.bundle] == nil
      else { throw .otherPlace(statement.bundle) }
      given[statement.bundle] = signed
    }
    return given
  }

  /// Returns the statements with the signature that is made here.
  func sign() throws(TrustFault) -> [Signed<ReleaseStatement>] {
    var signed: [Signed<ReleaseStatement>] = []
    for bundle in bundles { signed.append(try bundle.statement.signed(with: signers)) }
    return signed
  }
}

extension Signed {
  /// Puts a document into an envelope without signatures.
  init(unsigned document: Document) throws(TrustFault) {
    do {
      try self.init(document)
    } catch {
      throw .form(error)
    }
  }

  /// Returns the same document with the signatures of these signers, too.
  func signed(with signers: [any StatementSigner]) throws(TrustFault) -> Signed {
    var signed = self
    do {
      for signer in signers { signed = try signed.signed(by: signer) }
    } catch {
      throw .signing(error)
    }
    return signed
  }
}

extension PublisherTrust {
  /// Whether a bundle that doesn't change needs a statement all the same: since it is asked for, or for further channels.
  fileprivate func needsStatement(
    of bundle: BundleName, _ files: [BuildFile], in channel: ChannelName, _ options: SigningOptions
  ) -> Bool {
    if options.raisesFloor || options.given.contains(where: { $0.document.bundle == bundle }) { return true }
    return !options.channels.isEmpty
      && !isSigned(BundleContent.digest(of: files), of: bundle, for: options.channels.union([channel]))
  }
}

extension Publisher {
  /// Returns what a release is to sign; nil if nothing. Only an app with a root is asked about, before anything is sent.
  /// - Throws: `trust`.
  func signing(
    _ local: LocalBundles, _ remote: RemoteChannel, _ plans: [Plan], _ options: PublishOptions
  ) throws(PublishError) -> ReleaseSigning? {
    var terms = options.signing
    terms.isRollout = options.release.rollout != nil
    if let other = terms.given.first(where: { given in !plans.contains { $0.bundle == given.document.bundle }
    }) {
      throw .trust(.otherBundle(other.document.bundle))
    }
    if let root = terms.root {
      let app = remote.address.app
      guard root.root.app == app else { throw .trust(.otherRoot(app, path: root.path, of: root.root.app)) }
      // What the settings say is signed isn't published unsigned because an origin says so.
      if remote.overview?.root == nil { _ = try trust(of: app, terms) }
    }
    if let overview = remote.overview, overview.root == nil {
      if terms.canSign { progress(.notSigned(remote.address.app)) }
      return nil
    }
    guard terms.isDemanding || plans.contains(where: { !$0.isEmpty }) else { return nil }
    guard terms.canSign else {
      guard remote.overview?.root != nil else { return nil }
      guard options.release.dryRun == true else { throw .trust(.noKey(remote.address)) }
      progress(.lacksKey(remote.address.app))
      return nil
    }
    guard let trust = try trust(of: remote.address.app, terms), !trust.root.isOff else {
      progress(.notSigned(remote.address.app))
      return nil
    }
    let channel = remote.address.channel
    for other in terms.channels.sorted() where other != channel && !trust.channels.contains(other) {
      progress(.signsForUnknown(other, known: trust.channels))
    }
    var signing = try PublishError.signing { () throws(TrustFault) in
      let files = zip(local.bundles, plans).compactMap { bundle, plan in
        plan.isEmpty && !trust.needsStatement(of: bundle.source.name, bundle.resources, in: channel, terms)
          ? nil : (bundle: bundle.source.name, files: bundle.resources)
      }
      // What changes nothing is no release that could wait, and a channel that isn't there has nothing to wait in.
      let mayWait = remote.exists ? Set(plans.filter { !$0.isEmpty }.map(\.bundle)) : []
      return try ReleaseSigning(
        files, in: channel, trust, terms, now: Clock.unixMilliseconds(), mayWait: mayWait)
    }
    if signing.bundles.isEmpty { return nil }
    tellFloors(signing, remote)
    if options.release.dryRun == true { tellSigning(signing) }
    signing.waiting = try waiting(for: signing, remote, options.release)
    return signing
  }

  /// Returns what an app's root allows; nil if the app doesn't exist, or has no root.
  func trust(of app: AppName, _ options: SigningOptions) throws(PublishError) -> PublisherTrust? {
    let overview: TrustOverview
    do {
      overview = try api.trust(of: app).value
    } catch {
      guard error.problem?.status == 404 else { throw .origin(error) }
      if let root = options.root { throw .trust(.rootMissing(app, path: root.path)) }
      return nil
    }
    if overview.roots.isEmpty {
      if let root = options.root { throw .trust(.rootMissing(app, path: root.path)) }
      return nil
    }
    return try PublishError.signing { () throws(TrustFault) in
      try PublisherTrust(overview, builtIn: options.root)
    }
  }

  /// Says which versions of its bundles a release rules out.
  private func tellFloors(_ signing: ReleaseSigning, _ remote: RemoteChannel) {
    guard let overview = remote.overview else { return }
    for bundle in signing.bundles {
      let statement = bundle.statement.document
      guard statement.floor == statement.serial, overview.bundles.contains(where: { $0.name == bundle.name })
      else { continue }
      progress(.raisesFloor(bundle.name, above: overview.version))
    }
  }

  /// Returns statements of all of these bundles, with a signature if there is a key, for others to sign; nothing is sent.
  ///
  /// - Throws: `trust(.noRoot)` if the app has no root.
  package func statements(
    of bundles: [BundleSource], for channel: ChannelAddress, _ options: SigningOptions, rehash: Bool = false
  ) throws(PublishError) -> [Signed<ReleaseStatement>] {
    let unpacked = try UnpackedZips(bundles)
    defer { withExtendedLifetime(unpacked) {} }
    let local = try read(FoundFiles(unpacked.bundles, program: program), rehash: rehash)
    defer { for cache in local.caching { cache.value() } }
    guard let trust = try trust(of: channel.app, options), !trust.root.isOff else {
      throw .trust(.noRoot(channel.app))
    }
    return try PublishError.signing { () throws(TrustFault) in
      try ReleaseSigning(
        local.bundles.map { ($0.source.name, $0.resources) }, in: channel.channel, trust, options,
        now: Clock.unixMilliseconds(), needsAll: false
      ).sign()
    }
  }
}

extension Publication {
  /// Compares what the origin would make of the bundles with what was read here, and is to be signed.
  /// - Throws: `trust(.contentDiffers)`.
  func compare(_ contents: [PlannedContent]?) throws(PublishError) {
    guard let signing, let contents else { return }
    for planned in contents {
      guard let bundle = signing.bundles.first(where: { $0.name == planned.bundle }),
        bundle.content != planned.content
      else { continue }
      throw .trust(.contentDiffers(planned.bundle, try differences(planned.bundle)))
    }
  }

  /// Returns the URLs of a bundle that the plan was wrong about: it was made from what the origin said before.
  private func differences(_ name: BundleName) throws(PublishError) -> [String] {
    guard let bundle = local.bundles.first(where: { $0.source.name == name }),
      let plan = plans.first(where: { $0.bundle == name })
    else { return [] }
    let held = try remote.bundle(name, trustsCache: false)
    let again = Plan(name, local: bundle.resources, remote: held)
    let planned = Set(plan.put.map(\.url.text) + plan.remove)
    return Set(again.put.map(\.url.text) + again.remove).subtracting(planned).sorted()
  }

  /// Signs the bundles; a dry run leaves the key alone.
  func sign() throws(PublishError) -> [Signed<ReleaseStatement>] {
    guard let signing, !isDryRun else { return [] }
    return try PublishError.signing { () throws(TrustFault) in try signing.sign() }
  }

  /// Gives the origin the statements of a release that changed nothing, and so took none: those of content that is there.
  func keep(_ statements: [Signed<ReleaseStatement>], unlessIn answer: ReleaseAnswer) throws(PublishError) {
    guard !statements.isEmpty, !answer.isChanged, answer.scheduled == nil, signing?.lacking.isEmpty ?? true
    else { return }
    let request = StatementsRequest(releases: statements.map(\.envelope.json))
    _ = try PublishError.asking { () throws(OriginError) in try api.keep(request, of: channel.app) }
  }
}
