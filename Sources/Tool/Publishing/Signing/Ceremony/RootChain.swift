import Manifests
import System
import Trust
import Values

/// An origin's roots, verified from one that is known otherwise: what an app was built with. The origin isn't believed.
package struct RootChain: Sendable {
  /// From the known one on.
  package let roots: [Signed<TrustRoot>]

  /// The root in force.
  package var newest: Signed<TrustRoot> { roots[roots.count - 1] }

  /// - Parameters:
  ///   - anchor: the root that is known.
  ///   - envelopes: the origin's roots with their numbers.
  /// - Throws: `otherRoot`, `brokenChain`, `behind`.
  package init(
    from anchor: RootFile, through envelopes: [(number: Int64, envelope: JSONValue)]
  ) throws(CeremonyError) {
    var roots = [anchor.signed]
    for (number, envelope) in envelopes.sorted(by: { $0.number < $1.number }) {
      guard let number = RootNumber(number), number >= anchor.root.number else { continue }
      let received = Received<TrustRoot>(json: envelope)
      if number == anchor.root.number {
        guard case .success(let same) = received, same.digest == anchor.signed.digest else {
          throw .otherRoot(number, path: anchor.path)
        }
        continue
      }
      if let failure = Self.failure(of: received, after: roots[roots.count - 1]) {
        throw .brokenChain(number, path: anchor.path, failure)
      }
      if case .success(let next) = received { roots.append(next) }
    }
    let newest = envelopes.map(\.number).max() ?? 0
    if newest > 0, newest < anchor.root.number.number, let newest = RootNumber(newest) {
      throw .behind(newest: newest, path: anchor.path)
    }
    self.roots = roots
  }

  /// Returns why a device with the root `before` refuses the next one; nil if it takes it.
  package static func failure(of next: Received<TrustRoot>, after before: Signed<TrustRoot>) -> TrustFailure?
  {
    let root = before.document
    let place = TrustPlace(app: root.app, environment: root.environment, channel: .online)
    return TrustCheck(place: place, verifier: SystemVerifier())
      .check(TrustOffer(roots: [next]), state: TrustState(builtIn: before), now: .zero).failure
  }

  /// Returns why an app's first root, with which it is built, is none; nil if enough of its own keys have signed it.
  package static func failure(ofFirst root: Signed<TrustRoot>) -> TrustFailure? {
    root.signers.isEmpty || !root.document.roots.isMet(by: root.signers) ? .rootNewKeys : nil
  }
}

extension TrustTime {
  fileprivate static var zero: TrustTime {
    guard let zero = TrustTime(0) else { fatalError("0 is a time") }
    return zero
  }
}

extension Signed<TrustRoot> {
  /// Which of its own root keys have signed it.
  package var signers: [KeyID] {
    signers(among: document.roots.keys, keys: document.keys, by: SystemVerifier())
  }

  /// How many more signatures it needs: of its own root keys, and of those of the root before, if that is known.
  package func missing(after before: TrustRoot?) -> (own: Int, before: Int?) {
    func missing(_ root: TrustRoot) -> Int {
      let signed = signers(among: root.roots.keys, keys: root.keys, by: SystemVerifier()).count
      return max(0, root.roots.threshold - signed)
    }
    return (missing(document), before.map(missing))
  }
}
