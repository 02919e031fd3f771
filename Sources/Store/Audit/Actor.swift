/// Who acts, and from where.
package struct Actor: Hashable, Sendable {
  /// The name of the token that was shown.
  package let name: String
  /// The network address that the request came from; empty where none did.
  package let address: String

  package init(name: String, address: String) {
    self.name = name
    self.address = address
  }

  /// Someone with the data folder in hand, or the program itself.
  package static let local = Actor(name: "local", address: "")
}
