import Manifests
import OriginAPI
import System
import Trust
import Values

/// A release that waits for signatures, as it was found here: what the origin says of it has been compared with what is to be signed.
package struct AwaitedRelease: Sendable {
  /// A bundle that is to be signed, or has enough signatures.
  package struct Bundle: Sendable {
    package let statement: Signed<ReleaseStatement>
    /// What it becomes, made of what the release is carried out with.
    package let next: LiveBundle
    /// What the channel holds now, as the origin has it.
    package let live: LiveBundle
    /// Whether a valid statement signs what the channel holds now: only then the changes are known.
    package let isLiveSigned: Bool
    /// Whether what the channel holds now was signed after this.
    package let replacesLater: Bool
    /// The keys of the root that have signed it.
    package let signers: [KeyID]
    /// What it lacks; nil if nothing.
    package let lacking: LackingSignatures?

    package var name: BundleName { statement.document.bundle }
  }

  package let id: Int64
  package let channel: ChannelAddress
  /// The root in force.
  package let root: Signed<TrustRoot>
  package let bundles: [Bundle]
  /// Bundles that need no further signature and that the release changes, too, by now: back to what it was made on.
  package let others: [BundleName]
  /// What it is carried out with.
  let request: JSONObject

  /// Whether a key has to sign: a root that was pushed since may ask for no more than it has.
  package var needsSignature: Bool { bundles.contains { $0.lacking != nil } }

  /// How a file changes.
  package enum Change: Hashable, Sendable { case added, changed, removed }

  /// Returns why none of these keys may sign: the release waits for others, or they have signed it already. Nil if one may.
  package func obstacle(to signers: [any StatementSigner]) -> AwaitedFault? {
    let open = bundles.filter { $0.lacking != nil }
    let candidates = Set(open.flatMap { $0.lacking?.candidates ?? [] })
    let own = signers.map(\.key.id)
    guard !open.isEmpty, candidates.isDisjoint(with: own), let first = own.first else { return nil }
    if let key = own.first(where: { key in open.contains { $0.signers.contains(key) } }) {
      return .signedAlready(key, candidates.sorted())
    }
    return .notAsked(first, candidates.sorted())
  }

  /// Returns the statements with the signatures of those of the signers that the release waits for.
  ///
  /// - Throws: `awaited`, with `obstacle`, or with `refused` for what devices wouldn't take.
  package func signed(by signers: [any StatementSigner]) throws(PublishError) -> [Signed<ReleaseStatement>] {
    if let fault = obstacle(to: signers) { throw .awaited(fault) }
    let needsAny = bundles.contains { $0.lacking != nil }
    var statements: [Signed<ReleaseStatement>] = []
    for bundle in bundles {
      let (wanted, missing) = (bundle.lacking?.candidates ?? [], bundle.lacking?.missing ?? 0)
      let able = signers.filter { wanted.contains($0.key.id) }.prefix(missing)
      // A root that was pushed since may ask for no more: then the origin is only told to look again.
      if able.isEmpty, needsAny { continue }
      let signed = try PublishError.signing { () throws(TrustFault) in
        try bundle.statement.signed(with: Array(able))
      }
      if able.count == missing,
        let failure = RootJudge(root).failure(of: bundle.next, signed, in: channel.channel)
      {
        throw .awaited(.refused(bundle.name, failure))
      }
      statements.append(signed)
    }
    return statements
  }
}

extension AwaitedRelease.Bundle {
  /// What changes against the channel, by URL, with the new size, or that of what goes.
  package var changes: [(url: String, change: AwaitedRelease.Change, size: Int64)] {
    var changes: [(url: String, change: AwaitedRelease.Change, size: Int64)] = []
    var old: [ResourceURL: Entry] = [:]
    for item in live.items { old[item.url] = item.entry }
    for item in next.items {
      guard let before = old.removeValue(forKey: item.url) else {
        changes.append((item.url.text, .added, item.entry.size))
        continue
      }
      if !item.entry.isSame(as: before) { changes.append((item.url.text, .changed, item.entry.size)) }
    }
    for item in live.items where old[item.url] != nil {
      changes.append((item.url.text, .removed, item.entry.size))
    }
    return changes.sorted { UTF8Order.precedes($0.url, $1.url) }
  }

  /// Returns what differs between the release and the files here, by URL.
  func differences(from files: [BuildFile]) -> [String] {
    var here: [ResourceURL: BuildFile] = [:]
    for file in files { here[file.url] = file }
    var lines: [String] = []
    for item in next.items {
      guard let file = here.removeValue(forKey: item.url) else {
        lines.append("\(item.url): only in the release")
        continue
      }
      let entry = Entry(file.content, download: "", version: 1)
      if entry.sha256 != item.entry.sha256 {
        lines.append("\(item.url): other bytes")
      } else if !entry.isSame(as: item.entry) {
        lines.append(
          entry.hasSameFallbacks(as: item.entry)
            ? "\(item.url): another type or other headers" : "\(item.url): another fallback")
      }
    }
    lines += files.filter { here[$0.url] != nil }.map { "\($0.url): only here" }
    return lines
  }
}

extension Entry {
  /// Whether what is signed of a resource is the same.
  fileprivate func isSame(as other: Entry) -> Bool {
    sha256 == other.sha256 && size == other.size && ctype == other.ctype
      && (others["headers"] ?? .null) == (other.others["headers"] ?? .null) && hasSameFallbacks(as: other)
  }

  fileprivate func hasSameFallbacks(as other: Entry) -> Bool {
    (others["fallback"] ?? .null) == (other.others["fallback"] ?? .null)
  }
}
