import HTTP
import Platform

/// An open, checked file and the heads of its answers.
final class DownloadFile: Sendable {
  /// The request path, without a public URL's prefix and the slash before its first segment.
  let path: [UInt8]
  let document: CodedDocument

  init(path: [UInt8], document: CodedDocument) {
    self.path = path
    self.document = document
  }

  func isAt(_ path: RawSpan) -> Bool {
    let own = self.path
    return own.span.bytes.equals(path)
  }
}

/// Keeps a descriptor open for the answers that send from it.
final class OpenFile: Sendable {
  private let file: Descriptor
  let size: Int64

  init(_ file: consuming Descriptor, size: Int64) {
    self.file = file
    self.size = size
  }

  var body: Body {
    .file(FileBody(owner: self, descriptor: file.raw, offset: 0, count: UInt64(max(0, size))))
  }
}
