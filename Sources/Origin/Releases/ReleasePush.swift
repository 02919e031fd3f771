import Store

/// Brings a release's immutable files to where devices download them, before any device is told of it (guarantee 6).
package struct ReleasePush: Sendable {
  /// The files that must be there before the release is visible.
  package let names: @Sendable (PreparedRelease) throws(StoreError) -> Set<String>
  /// Brings those that are missing; comes back when all are there.
  /// - Throws: `pushFailed`.
  package let push: @Sendable (PreparedRelease) throws(StoreError) -> Void
  /// Brings a pack; comes back when it is there. A release can do without: devices aren't told of it then.
  /// - Throws: `pushFailed`.
  package let pack: @Sendable (StoredPack, ChannelInfo) throws(StoreError) -> Void

  package init(
    names: @escaping @Sendable (PreparedRelease) throws(StoreError) -> Set<String>,
    push: @escaping @Sendable (PreparedRelease) throws(StoreError) -> Void,
    pack: @escaping @Sendable (StoredPack, ChannelInfo) throws(StoreError) -> Void = { _, _ in }
  ) {
    self.names = names
    self.push = push
    self.pack = pack
  }

  /// How often it is pushed again because other releases, or new deltas, came meanwhile.
  private static let rounds = 8

  /// Makes a release whose files are pushed before it is committed, while no transaction is open.
  ///
  /// The download URLs are certain only inside the transaction. So that is tried first: it ends with what would be
  /// committed and changes nothing; then the files go out; then it is tried again, and passes where all that it names
  /// went out.
  /// - Parameters:
  ///   - commit: tries once; it calls what it is given inside the transaction.
  ///   - after: is told what was pushed, before it is tried again.
  /// - Throws: `pushFailed`; `unpushed` where others came between each time.
  func ahead<Outcome>(
    of commit: (_ check: @escaping (PreparedRelease) throws(StoreError) -> Void) throws(StoreError) ->
      Outcome,
    after: (PreparedRelease) -> Void = { _ in }
  ) throws(StoreError) -> Outcome {
    var there: Set<String> = []
    for _ in 0..<Self.rounds {
      var wanted: PreparedRelease?
      do {
        return try commit { (prepared) throws(StoreError) in
          if try names(prepared).isSubset(of: there) { return }
          wanted = prepared
          throw .unpushed
        }
      } catch .unpushed {
        guard let wanted else { throw .unpushed }
        let names = try names(wanted)
        try push(wanted)
        there.formUnion(names)
        after(wanted)
      }
    }
    throw .unpushed
  }
}
