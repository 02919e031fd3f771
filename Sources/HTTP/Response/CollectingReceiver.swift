/// Keeps a small body in memory and answers it whole.
package final class CollectingReceiver: BodyReceiver {
  private var collected: [UInt8] = []
  private let answer: @Sendable ([UInt8]) -> Response

  package init(_ answer: @escaping @Sendable ([UInt8]) -> Response) { self.answer = answer }

  package func receive(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { collected.append(contentsOf: $0) }
    return true
  }

  package func finish() -> Response { answer(collected) }
  package func abort() {}
}
