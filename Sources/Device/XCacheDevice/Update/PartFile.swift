import System

/// A file that is being received: its bytes so far, and the entity tag of the answer that they came with.
struct PartFile {
  let path: String
  /// Where the tag is kept; nil if the file is removed when its download fails.
  private let tagPath: String?
  private let folder: CacheFolder

  /// What came of files of at least this size is kept when the connection breaks or the app ends.
  static let smallest: Int64 = 64 << 10
  /// Each time that so many bytes more came, a download that breaks off has all its attempts again.
  static let large: Int64 = 1 << 20
  private static let longestTag = 1024

  /// A file that is removed when its download fails.
  init(in folder: CacheFolder) {
    self.folder = folder
    path = folder.incoming()
    tagPath = nil
  }

  /// A file that stays when its download fails, and goes on from there in the next process, too.
  init(of sha256: SHA256, in folder: CacheFolder) {
    self.folder = folder
    path = folder.half(sha256)
    tagPath = folder.halfTag(sha256)
  }

  /// What has come of a first pack.
  init(ofFirstPackIn folder: CacheFolder) {
    self.folder = folder
    path = "\(folder.staging)/first"
    tagPath = "\(folder.staging)/first-tag"
  }

  /// Whether anything was received, or was about to be.
  var isThere: Bool { folder.status(path) != nil }

  /// The number of bytes received so far.
  var size: Int64 { folder.status(path)?.size ?? 0 }

  /// The tag of the bytes received so far, as the server sent it.
  var tag: String? {
    guard let tagPath, let bytes = try? DurableFile.read(tagPath, limit: Self.longestTag) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Keeps the tag of an answer that begins with the file's first byte.
  ///
  /// The tag of a coded body stands for the coded bytes, and a weak one for no bytes in particular (RFC 9110 §8.8.1).
  func keepTag(of head: TransportHead) throws(DeviceError) {
    guard let tagPath else { return }
    if folder.status(tagPath) != nil { try folder.remove(tagPath) }
    guard !head.isCoded, let tag = head.entityTag, tag.hasPrefix("\""), tag.utf8.count <= Self.longestTag
    else { return }
    let part = folder.incoming()
    try folder.write(Array(tag.utf8), toNew: part)
    try folder.move(part, to: tagPath)
  }

  /// Moves the finished file to `target`.
  func finish(to target: String) throws(DeviceError) {
    try removeTag()
    try folder.move(path, to: target)
  }

  /// Removes what was received. The tag goes first, so that it never ends up next to other bytes.
  func remove() throws(DeviceError) {
    try removeTag()
    try folder.remove(path)
  }

  /// Removes what was received, unless the failure leaves bytes that the next attempt can use.
  func remove(after error: DeviceError) throws(DeviceError) {
    if tagPath == nil || !error.leavesBytes { try remove() }
  }

  /// Forgets the tag: the next attempt asks for the rest without a condition.
  func removeTag() throws(DeviceError) {
    if let tagPath, folder.status(tagPath) != nil { try folder.remove(tagPath) }
  }
}

extension DeviceError {
  /// Whether the bytes received so far can be kept for resuming.
  fileprivate var leavesBytes: Bool {
    switch self {
    case .noAnswer(_, let error): error.kind != .tooLong && error.kind != .other
    // "Range Not Satisfiable": the bytes that were kept don't fit the server's file. 206: nobody asked for a part.
    case .status(_, let code, _): code != 416 && code != 206
    default: false
    }
  }
}
