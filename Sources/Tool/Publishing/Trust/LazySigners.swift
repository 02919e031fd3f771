import System

/// Signers that are made when they are first needed, and once: a person may have to type a passphrase for each.
package final class LazySigners: Sendable {
  private let make: @Sendable () throws(SigningError) -> [any StatementSigner]
  private let made = Locked<[any StatementSigner]?>(nil)

  /// - Parameter make: returns at least one; each key once.
  package init(_ make: @escaping @Sendable () throws(SigningError) -> [any StatementSigner]) {
    self.make = make
  }

  /// Signers that are there.
  package convenience init(_ signers: any StatementSigner...) {
    self.init { () throws(SigningError) in signers }
  }

  func get() throws(TrustFault) -> [any StatementSigner] {
    if let made = made.withLock({ $0 }) { return made }
    do {
      let signers = try make()
      made.withLock { $0 = signers }
      return signers
    } catch {
      throw .signing(error)
    }
  }
}
