import System

/// A signer that is made when it is first needed, and once: a person may have to type a passphrase for it.
package final class LazySigner: Sendable {
  private let make: @Sendable () throws(SigningError) -> any StatementSigner
  private let made = Locked<(any StatementSigner)?>(nil)

  package init(_ make: @escaping @Sendable () throws(SigningError) -> any StatementSigner) {
    self.make = make
  }

  /// A signer that is there.
  package convenience init(_ signer: any StatementSigner) {
    self.init { () throws(SigningError) in signer }
  }

  func get() throws(TrustFault) -> any StatementSigner {
    if let made = made.withLock({ $0 }) { return made }
    do {
      let signer = try make()
      made.withLock { $0 = signer }
      return signer
    } catch {
      throw .signing(error)
    }
  }
}
