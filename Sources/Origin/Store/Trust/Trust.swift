import Manifests
import System
import Trust

extension Store {
  /// The roots of an app; nil if it has none.
  /// - Throws: `unknownApp`.
  package func trust(of app: AppName) throws(StoreError) -> AppTrust? { nil }

  /// Each bundle of a kept version of a channel with a root, ordered by name; empty in any other channel.
  package func bundleTrust(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> [BundleTrust]
  { [] }

  /// The statement of a version of the prefetch config; nil if none is stored.
  package func prefetchStatement(of channel: ChannelInfo, at version: Int64) throws(StoreError) -> Signed<
    PrefetchStatement
  >? {
    nil
  }

  /// Puts a root in force: the first one by a release of kind `rebase` in each channel of the app, from which on entries name
  /// their bundles. A root that is in force already changes nothing.
  ///
  /// - Parameters:
  ///   - digest: as for `commit`.
  ///   - committed: called once after the commit, before anything else can commit.
  /// - Throws: `unknownApp`, `rootRefused`, `unsigned`, `sharedURLs`, `noHeadKey`, `frozen`, `rolloutOpen`, with nothing changed.
  package func push(
    _ request: RootInput, digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (RootOutcome) -> Void = { _ in }, record: AnswerRecord<RootOutcome>? = nil
  ) throws(StoreError) -> RootOutcome {
    throw .noRoot(request.app)
  }

  /// Keeps statements for contents that are stored.
  /// - Returns: how many weren't known before.
  /// - Throws: `noRoot`, `unsigned` for one that devices would refuse or whose content isn't stored; then none is kept.
  package func keep(
    _ request: StatementsInput, committed: () -> Void = {}, record: AnswerRecord<Int>? = nil
  ) throws(StoreError) -> Int {
    throw .noRoot(request.app)
  }

  /// The public keys with which this origin can sign heads, newest first.
  package func headKeys() throws(StoreError) -> [TrustKey] { [] }

  /// The newest key for heads, made if there is none, or if another one is asked for.
  package func makeHeadKey(another: Bool, by actor: Actor) throws(StoreError) -> (key: TrustKey, isNew: Bool)
  {
    throw .unknownVersion(.none)
  }

  /// Signs a head for what the channel is now, unless the newest one says just that.
  /// - Parameter isDaily: signs also if nothing but the time has changed.
  /// - Returns: whether there is another head than before; false in a channel without a root.
  @discardableResult
  package func renewHead(of channel: Int64, isDaily: Bool = false) throws(StoreError) -> Bool { false }

  /// `head.json`: the envelope of the channel's newest head, in canonical form; nil if there is none.
  package func headDocument(of channel: ChannelInfo) throws(StoreError) -> [UInt8]? { nil }

  /// `root/N.json`: the envelope of a root, in canonical form; nil if the app has none of this number.
  package func rootDocument(of app: AppName, _ number: Int64) throws(StoreError) -> [UInt8]? { nil }

  /// The member `trust` of an answer that leads to `version`, in canonical form: the newest head, and the statements of the
  /// bundles that differ from those at `base`, or of all; nil in a channel without a root, or with one that is off.
  package func answerTrust(of channel: ChannelInfo, from base: ManifestVersion?, to version: ManifestVersion)
    throws(StoreError) -> [UInt8]?
  { nil }
}
