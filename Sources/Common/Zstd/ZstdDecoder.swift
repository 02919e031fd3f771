/// A streaming zstd decoder (RFC 8878) without dependencies, whose output is passed on directly from its window.
///
/// It accepts what the RFC allows and nothing else; `Tests/Common/ZstdTests` shows where libzstd accepts more. For any input, it
/// either throws a `ZstdError` or produces the decoded bytes. Its memory is its dictionary, the window of the frame (or less
/// if the frame can't fill it), and less than 500 KB besides.
package struct ZstdDecoder: ~Copyable {
  /// Which frames are accepted.
  package enum Frames: Sendable {
    /// One frame, and nothing after it.
    case one
    /// One or more frames, including skippable ones.
    case all
  }

  /// What the next bytes are.
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
    /// After the only frame.
    case end
    case failed(ZstdError)
  }

  private let frames: Frames
  private let windowLimit: UInt64
  private let limit: Int64
  private var blocks: BlockDecoder
  private var window: Window?

  private var stage = Stage.magic
  /// The number of bytes that a stage needs in one piece, and how many of them are in `blocks.workspace.block`.
  private var needed = 4
  private var collected = 0
  /// The number of input bytes read, and where the current frame or block begins.
  private var taken: Int64 = 0
  private var part: Int64 = 0
  /// The number of bytes produced, by all frames and by this one.
  private var given: Int64 = 0
  private var frameGiven: Int64 = 0
  private var frameCount = 0

  // From this frame's header.
  private var contentSize: UInt64?
  private var largestBlock = 0
  private var isLastBlock = false
  private var checksum: XXH64?

  /// - Parameters:
  ///   - dictionary: raw content that precedes the first byte of each frame.
  ///   - windowLimit: the maximum window of a frame, in bytes.
  ///   - limit: the maximum bytes of all frames together, decoded.
  ///   - frames: which frames are accepted.
  package init(dictionary: [UInt8] = [], windowLimit: Int, limit: Int64 = .max, frames: Frames = .all) {
    blocks = BlockDecoder(dictionary: dictionary)
    self.windowLimit = UInt64(max(0, windowLimit))
    self.limit = max(0, limit)
    self.frames = frames
  }

  /// Decodes the next bytes, and passes the result to `give` block by block, at most 128 KiB at a time.
  ///
  /// - Throws: `ZstdError`, and the same one at every later call; or what `give` throws, after which nothing more can be
  ///   decoded.
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

  /// Whether the input so far ends with a frame.
  package var isAtEnd: Bool {
    switch stage {
    case .end: true
    case .magic: collected == 0 && frameCount > 0
    default: false
    }
  }

  /// Checks that the input is complete.
  /// - Throws: `truncated`, if it isn't; an earlier error.
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

  private mutating func take(_ limit: Int, of rest: inout Slice<UnsafeRawBufferPointer>)
    -> UnsafeRawBufferPointer
  {
    let piece = rest.prefix(limit)
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

  /// Handles the stage's bytes, which are complete.
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
    let outputLimit = UInt64(limit - given)
    if let size = header.contentSize, size > outputLimit { throw .overLimit }
    guard header.window <= windowLimit else { throw .windowTooLarge(header.window) }
    // The limit is an Int.
    let size = Int(header.window)
    contentSize = header.contentSize
    largestBlock = min(size, Workspace.largestBlock)
    checksum = header.hasChecksum ? XXH64() : nil
    blocks.beginFrame()
    frameGiven = 0
    window = Window(
      size: size, outputLimit: Int(clamping: min(outputLimit, header.contentSize ?? outputLimit)))
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
      // Checked before any part of the block is passed on.
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
      // A frame that has begun has a window; `nil` here would be our bug, and harmless.
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

  /// Checks that `count` more bytes are allowed.
  /// - Throws: `overLimit`, `contentSize`, if they aren't.
  private func check(_ count: Int) throws(ZstdError) {
    guard count <= limit - given else { throw .overLimit }
    if let contentSize, UInt64(frameGiven) + UInt64(count) > contentSize {
      throw .corrupted(.contentSize, at: part)
    }
  }

  /// Passes the window's last `count` bytes to `give`.
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
