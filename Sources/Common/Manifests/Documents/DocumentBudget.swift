/// How much a device takes of a document (docs/protocol.md §1): whoever answers it may be anyone, and a few bytes of a coded
/// body stand for any number of bytes.
package enum DocumentBudget {
  /// The most entries of a resourcemap, changes of a patch, or deltas.
  package static let entries = 200_000
  /// The most values that an entry, or the change of one, consists of: itself, its members, and what they contain.
  package static let entryValues = 256
  /// The most values that all entries of a document consist of.
  package static let values = 4_000_000
  /// The most patterns and scripts of a policy, and calls of a page; further ones are ignored.
  package static let patterns = 1000
  package static let scripts = 100
  package static let calls = 64
}
