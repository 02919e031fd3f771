/// A decoder of zstd (RFC 8878) that is fed as bytes arrive: it imports nothing, and what it gives are pieces of its window.
///
/// It takes what the RFC allows and nothing else; where libzstd takes more, `Tests/ZstdTests` says so. Whatever the bytes, it
/// throws a `ZstdError` or gives what they stand for. Its memory is its dictionary, the window of the frame, or less where
/// the frame can't fill it, and less than 500 KB.
package struct ZstdDecoder: ~Copyable {
  /// Which frames are taken.
  package enum Frames: Sendable {
    /// One, and nothing behind it.
    case one
    /// One or more, and skippable ones, one after another.
    case all
  }

  /// What the bytes that come next are.
  private enum Stage {
    case magic
    case skippableSize
    case skippable(left: Int)
    case descriptor
    case header(FrameHeader.Descriptor)
    case blockHeader
    case raw(left: Int)
    case repeated(count: Int)
    case compressed(count: Int)
    case checksum
    /// Behind the one frame.
    case end
    case failed(ZstdError)
  }

  private let frames: Frames
  private let windowLimit: UInt64
  private let limit: Int64
  private var blocks: BlockDecoder
  private var window: Window?

  private var stage = Stage.magic
  /// Bytes that a stage needs in one piece, and those of them that are in `blocks.workspace.block`.
  private var needed = 4
  private var collected = 0
  /// Bytes of the input that were taken, and where the frame or block that is being read begins.
  private var taken: Int64 = 0
  private var part: Int64 = 0
  /// Bytes that were given, of all frames and of this one.
  private var given: Int64 = 0
  private var frameGiven: Int64 = 0
  private var frameCount = 0

  // What this frame's header says.
  private var contentSize: UInt64?
  private var largestBlock = 0
  private var isLastBlock = false
  private var checksum: XXH64?

  /// - Parameters:
  ///   - dictionary: raw content that stands before the first byte of each frame.
  ///   - windowLimit: bytes that a frame's window may have.
  ///   - limit: bytes that all frames together may stand for.
  package init(dictionary: [UInt8] = [], windowLimit: Int, limit: Int64 = .max, frames: Frames = .all) {
    blocks = BlockDecoder(dictionary: dictionary)
    self.windowLimit = UInt64(max(0, windowLimit))
    self.limit = max(0, limit)
    self.frames = frames
  }

  /// Takes the next bytes, and gives what they stand for, piece by piece: a block's bytes at a time, at most 128 KiB.
  ///
  /// - Throws: `ZstdError`, and the same one whenever it is called again; or what `give` throws, after which nothing more
  ///   can be decoded.
  package mutating func push(_ bytes: RawSpan, _ give: (RawSpan) throws -> Void) throws {
    try bytes.withUnsafeBytes { bytes in
      do {
        try push(bytes, give)
      } catch let error as ZstdError {
        stage = .failed(error)
        throw error
      } catch {
        stage = .failed(.truncated)
        throw error
      }
    }
  }

  /// Whether what was taken ends with a frame.
  package var isAtEnd: Bool {
    switch stage {
    case .end: true
    case .magic: collected == 0 && frameCount > 0
    default: false
    }
  }

  /// - Throws: `truncated` where more has to come; an earlier error.
  package func finish() throws(ZstdError) {
    if case .failed(let error) = stage { throw error }
    guard isAtEnd else { throw .truncated }
  }

  // MARK: Taking bytes

  private mutating func push(_ bytes: UnsafeRawBufferPointer, _ give: (RawSpan) throws -> Void) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      switch stage {
      case .failed(let error): throw error
      case .end: throw ZstdError.trailing(at: taken)
      case .skippable(let left):
        let count = take(left, of: &rest).count
        if count < left { stage = .skippable(left: left - count) } else { beginFrame() }
      case .raw(let left):
        let piece = take(left, of: &rest)
        window?.append(piece)
        stage = .raw(left: left - piece.count)
        try self.give(piece.count, give)
        if piece.count == left { try endBlock() }
      default:
        let piece = take(needed - collected, of: &rest)
        if let from = piece.baseAddress {
          (blocks.workspace.block + collected).copyMemory(from: from, byteCount: piece.count)
        }
        collected += piece.count
        if collected == needed { try act(give) }
      }
    }
  }

  private mutating func take(_ most: Int, of rest: inout Slice<UnsafeRawBufferPointer>)
    -> UnsafeRawBufferPointer
  {
    let piece = rest.prefix(most)
    rest = rest.dropFirst(piece.count)
    taken += Int64(piece.count)
    return UnsafeRawBufferPointer(rebasing: piece)
  }

  private mutating func collect(_ stage: Stage, _ count: Int) {
    self.stage = stage
    needed = count
    collected = 0
  }

  private func number(_ width: Int) -> UInt32 {
    (0..<width).reduce(0) {
      $0 | UInt32(blocks.workspace.block.load(fromByteOffset: $1, as: UInt8.self)) << UInt32(8 * $1)
    }
  }

  /// Does what the stage's bytes, which are all there, ask for.
  private mutating func act(_ give: (RawSpan) throws -> Void) throws {
    switch stage {
    case .magic: try readMagic()
    case .skippableSize:
      let size = Int(number(4))
      if size > 0 { stage = .skippable(left: size) } else { beginFrame() }
    case .descriptor:
      do throws(ZstdFault) {
        let descriptor = try FrameHeader.Descriptor(UInt8(truncatingIfNeeded: number(1)))
        collect(.header(descriptor), descriptor.rest)
      } catch {
        throw ZstdError.corrupted(error, at: part)
      }
    case .header(let descriptor):
      try begin(
        FrameHeader(
          descriptor, UnsafeRawBufferPointer(start: blocks.workspace.block, count: descriptor.rest)))
    case .blockHeader: try readBlockHeader()
    case .repeated(let count):
      let byte = UInt8(truncatingIfNeeded: number(1))
      window?.append(byte, count: count)
      try self.give(count, give)
      try endBlock()
    case .compressed(let count): try decode(count, give)
    case .checksum:
      guard let checksum, UInt32(truncatingIfNeeded: checksum.value) == number(4) else {
        throw ZstdError.checksum
      }
      endFrame()
    case .skippable, .raw, .end, .failed: break
    }
  }

  // MARK: Frames

  private mutating func beginFrame() {
    part = taken
    collect(.magic, 4)
  }

  private mutating func readMagic() throws(ZstdError) {
    let magic = number(4)
    if magic == FrameHeader.magic {
      collect(.descriptor, 1)
    } else if magic & ~15 == FrameHeader.skippable, frames == .all {
      frameCount += 1
      collect(.skippableSize, 4)
    } else {
      throw .noFrame(at: part)
    }
  }

  private mutating func begin(_ header: FrameHeader) throws(ZstdError) {
    guard header.dictionary == 0 else { throw .dictionaryNeeded(header.dictionary) }
    let most = UInt64(limit - given)
    if let size = header.contentSize, size > most { throw .overLimit }
    guard header.window <= windowLimit else { throw .windowTooLarge(header.window) }
    // The limit is an Int.
    let size = Int(header.window)
    contentSize = header.contentSize
    largestBlock = min(size, Workspace.largestBlock)
    checksum = header.hasChecksum ? XXH64() : nil
    blocks.beginFrame()
    frameGiven = 0
    window = Window(size: size, most: Int(clamping: min(most, header.contentSize ?? most)))
    beginBlock()
  }

  private mutating func endFrame() {
    frameCount += 1
    window = nil
    if frames == .one { stage = .end } else { beginFrame() }
  }

  // MARK: Blocks

  private mutating func beginBlock() {
    part = taken
    collect(.blockHeader, 3)
  }

  private mutating func readBlockHeader() throws(ZstdError) {
    let header = Int(number(3))
    isLastBlock = header & 1 != 0
    let size = header >> 3
    guard size <= largestBlock else { throw .corrupted(.blockSize, at: part) }
    window?.beginBlock()
    switch header >> 1 & 3 {
    case 0:
      // Before a part of it is given.
      try check(size)
      stage = .raw(left: size)
      if size == 0 { try endBlock() }
    case 1:
      try check(size)
      collect(.repeated(count: size), 1)
    case 2:
      guard size > 0 else { throw .corrupted(.emptyBlock, at: part) }
      collect(.compressed(count: size), size)
    default: throw .corrupted(.blockType, at: part)
    }
  }

  private mutating func decode(_ count: Int, _ give: (RawSpan) throws -> Void) throws {
    var written = 0
    do throws(ZstdFault) {
      // A frame that has begun has a window; `nil` here would be a mistake of ours, and harmless.
      guard var window = self.window.take() else { return }
      written = try blocks.decode(count: count, limit: largestBlock, given: frameGiven, into: window)
      window.advance(written)
      self.window = consume window
    } catch {
      throw ZstdError.corrupted(error, at: part)
    }
    try self.give(written, give)
    try endBlock()
  }

  /// - Throws: `overLimit`, `contentSize` where so many bytes are too many.
  private func check(_ count: Int) throws(ZstdError) {
    guard count <= limit - given else { throw .overLimit }
    if let contentSize, UInt64(frameGiven) + UInt64(count) > contentSize {
      throw .corrupted(.contentSize, at: part)
    }
  }

  /// Gives the window's last bytes.
  private mutating func give(_ count: Int, _ give: (RawSpan) throws -> Void) throws {
    try check(count)
    given += Int64(count)
    frameGiven += Int64(count)
    guard count > 0, let window = self.window.take() else { return }
    let bytes = window.last(count)
    self.window = consume window
    checksum?.update(bytes)
    try give(bytes.bytes)
  }

  private mutating func endBlock() throws(ZstdError) {
    guard isLastBlock else { return beginBlock() }
    if let contentSize, UInt64(frameGiven) != contentSize { throw .corrupted(.contentSize, at: part) }
    if checksum != nil { collect(.checksum, 4) } else { endFrame() }
  }
}
