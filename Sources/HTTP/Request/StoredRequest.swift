/// A copy of a request's head that outlives the call, for answers that are made later.
package struct StoredRequest: Sendable {
  private let bytes: [UInt8]
  private let head: RequestHead
  private let peer: PeerAddress

  package init(_ request: borrowing Request) {
    bytes = request.bytes.withUnsafeBytes { [UInt8]($0) }
    head = request.head
    peer = request.peer
  }

  /// The request, as long as the copy is held.
  package var request: Request {
    @_lifetime(borrow self) get { Request(head, in: bytes.span.bytes, from: peer) }
  }
}
