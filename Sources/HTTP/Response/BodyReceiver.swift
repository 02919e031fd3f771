/// Takes a request's body as it arrives, on threads where blocking is allowed.
///
/// The calls of one receiver come in order and one at a time, but not always on the same thread. After the
/// last call, which is `finish` or `abort`, the receiver is dropped.
package protocol BodyReceiver: AnyObject {
  /// Takes the next bytes; false when no more are wanted, and then `finish` gives the answer and the connection
  /// is closed after it. No bytes are a question: the client asks before it sends any (`Expect: 100-continue`).
  func receive(_ bytes: RawSpan) -> Bool
  /// Gives the answer, once the whole body was received or `receive` said stop.
  func finish() -> Response
  /// Drops what was half received: the client went away, was too slow, or sent too much.
  func abort()
}
