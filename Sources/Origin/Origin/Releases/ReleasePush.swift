import Manifests
import Store
import System

/// Uploads a release's immutable files to where devices download them, before any device learns of it.
package struct ReleasePush: Sendable {
  /// Returns the files that must be there before the release becomes visible and aren't known to be.
  package let names: @Sendable (PreparedRelease) throws(StoreError) -> Set<String>
  /// Uploads these files; returns when all are there.
  /// - Throws: `pushFailed`.
  package let push: @Sendable (PreparedRelease) throws(StoreError) -> Void
  /// Uploads deltas; returns when they are there. Like packs, they are optional: what isn't uploaded isn't offered.
  /// - Throws: `pushFailed`.
  package let deltas: @Sendable ([DeltaOffer]) throws(StoreError) -> Void
  /// Uploads a pack; returns when it is there.
  /// - Throws: `pushFailed`.
  package let pack: @Sendable (StoredPack, ChannelInfo) throws(StoreError) -> Void

  /// Finds what was uploaded with purged bytes, or under these URLs; returns the paths below the public URL.
  /// - Throws: `pushFailed`.
  package let find: @Sendable (Set<SHA256>, [String]) throws(StoreError) -> [String]
  /// Removes what is under these paths; what isn't there doesn't matter.
  /// - Throws: `pushFailed`.
  package let remove: @Sendable ([String]) throws(StoreError) -> Void

  package init(
    names: @escaping @Sendable (PreparedRelease) throws(StoreError) -> Set<String>,
    push: @escaping @Sendable (PreparedRelease) throws(StoreError) -> Void,
    pack: @escaping @Sendable (StoredPack, ChannelInfo) throws(StoreError) -> Void = { _, _ in },
    deltas: @escaping @Sendable ([DeltaOffer]) throws(StoreError) -> Void = { _ in },
    find: @escaping @Sendable (Set<SHA256>, [String]) throws(StoreError) -> [String] = { _, _ in [] },
    remove: @escaping @Sendable ([String]) throws(StoreError) -> Void = { _ in }
  ) {
    self.names = names
    self.push = push
    self.deltas = deltas
    self.pack = pack
    self.find = find
    self.remove = remove
  }

  /// How often files are pushed again because other releases came meanwhile.
  private static let rounds = 8

  /// Makes a release whose files are pushed before it is committed, while no transaction is open.
  ///
  /// Download URLs are final only inside the transaction. So the commit is first attempted: it ends with what would be
  /// committed and changes nothing. Then the files are pushed and the commit is attempted again; it succeeds if everything
  /// that it names was pushed. What is known to be there isn't asked for: such a release needs nobody but the origin.
  /// - Parameters:
  ///   - commit: makes one attempt; it calls its argument inside the transaction.
  ///   - limiting: runs a push, or throws if there are too many.
  ///   - after: called with what was pushed, before the next attempt.
  /// - Returns: the outcome, and the versions as they were made; none if there was nothing to make.
  /// - Throws: `pushFailed`; `unpushed` if other releases came in between each time.
  func pushing<Outcome>(
    before commit: ReleaseService.CommitAttempt<Outcome>,
    limiting: @escaping (() throws(StoreError) -> Void) throws(StoreError) -> Void,
    after: (PreparedRelease) -> Void = { _ in }
  ) throws(StoreError) -> (Outcome, [PreparedRelease]) {
    var pushed: Set<String> = []
    for _ in 0..<Self.rounds {
      var wanted: PreparedRelease?
      var made: [PreparedRelease] = []
      do {
        let outcome = try commit { (prepared) throws(StoreError) in
          if try names(prepared).isSubset(of: pushed) {
            made.append(prepared)
            return
          }
          wanted = prepared
          throw .unpushed
        }
        return (outcome, made)
      } catch .unpushed {
        guard let wanted else { throw .unpushed }
        try limiting { () throws(StoreError) in
          let names = try names(wanted)
          try push(wanted)
          pushed.formUnion(names)
          after(wanted)
        }
      }
    }
    throw .unpushed
  }
}
