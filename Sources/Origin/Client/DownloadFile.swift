import HTTP
import Platform

/// An open, checked file and the heads of its answers.
final class DownloadFile: Sendable {
  /// The request path.
  let path: [UInt8]
  let document: CodedDocument
  /// What else has to be known to answer with a delta on the client's dictionary; nil where none may be.
  let target: DeltaTarget?

  init(path: [UInt8], document: CodedDocument, target: DeltaTarget? = nil) {
    self.path = path
    self.document = document
    self.target = target
  }

  func isAt(_ path: RawSpan) -> Bool { path.equals(self.path) }
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

/// A resource whose answers may be deltas.
struct DeltaTarget: Sendable {
  let sha256: SHA256
  let md5: String
  /// Of its answers, without Content-Encoding.
  let fields: HeadFields
}
