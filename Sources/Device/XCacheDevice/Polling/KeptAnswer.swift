import System
import Values

/// The answer with the manifest that an update is about: if that fails, the next poll needn't download it again.
struct KeptAnswer: Sendable {
  /// The entity tag that it came with.
  let tag: String
  let body: [UInt8]
}

extension CacheFolder {
  /// The kept answer: a line of JSON with its URL, its tag and the hash of its bytes, and then these.
  private var answer: String { "\(root)/answer" }

  /// Returns the kept answer of a URL; nil if there is none, or it is damaged.
  func keptAnswer(for url: String) -> KeptAnswer? {
    guard let bytes = try? DurableFile.read(answer), let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
      let head = try? JSONValue.parse(Array(bytes[..<end])), head["url"]?.string == url,
      let tag = head["tag"]?.string
    else { return nil }
    let body = Array(bytes[(end + 1)...])
    return head["sha256"]?.string == SHA256.of(body).hex ? KeptAnswer(tag: tag, body: body) : nil
  }

  /// Keeps an answer; one that can't be written, or that a power cut damages, is downloaded again.
  func keep(_ reply: DocumentReply, from url: String) {
    guard let tag = reply.tag, !reply.isKept else { return }
    let head: JSONValue = [
      "sha256": .string(SHA256.of(reply.body).hex), "tag": .string(tag), "url": .string(url),
    ]
    do throws(DeviceError) {
      try forgetAnswer()
      try write(head.canonical + [UInt8(ascii: "\n")] + reply.body, toNew: answer)
    } catch {
      try? forgetAnswer()
    }
  }

  /// Removes the kept answer, if there is one.
  func forgetAnswer() throws(DeviceError) {
    if (try? Kernel.status(answer, followLinks: false)) ?? nil != nil { try remove(answer) }
  }
}
