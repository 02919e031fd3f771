import System

/// Writes one archive to a sink, entry by entry, with its directory at the end.
///
/// Equal names and bytes in equal order give equal archives: time stamps are 1980-01-01, modes 0644, the deflate level is
/// fixed, and only sizes decide what is streamed and what needs ZIP64.
struct ArchiveWriter: ~Copyable {
  private let sink: any ArchiveSink
  private var offset: UInt64 = 0
  private var count: UInt64 = 0
  private var directory: [UInt8] = []
  private var names: Set<String> = []

  init(_ sink: any ArchiveSink) { self.sink = sink }

  /// Appends an entry that is already compressed.
  mutating func append(_ compressed: CompressedEntry, as input: ArchiveInput) throws(ArchiveError) {
    let sizes = Sizes(size: UInt64(input.size), compressedSize: UInt64(compressed.bytes.count))
    let header = try begin(input, flags: .utf8, crc: compressed.crc, sizes, isLong: false)
    try write(compressed.bytes)
    close(header, input, sizes, at: offset - UInt64(compressed.bytes.count))
  }

  /// Appends an entry of any size, which is read while it is written.
  mutating func stream(_ input: ArchiveInput, _ deflater: borrowing Deflater) throws(ArchiveError) {
    let source = try input.opened()
    switch input.method {
    case .stored: try store(input, source)
    case .deflate: try deflate(input, source, deflater)
    }
  }

  /// Writes the directory and the end of the archive.
  consuming func finish() throws(ArchiveError) {
    let (start, size) = (offset, UInt64(directory.count))
    try write(directory)
    var end: [UInt8] = []
    if count >= UInt64(ZIP64.mark16) || ZIP64.needed(start) || ZIP64.needed(size) {
      ZIP64DirectoryEnd(count: count, directorySize: size, directoryOffset: start).append(to: &end)
      ZIP64Locator(offset: offset).append(to: &end)
    }
    DirectoryEnd(
      count: UInt16(clamping: count), directorySize: ZIP64.field(size), directoryOffset: ZIP64.field(start)
    ).append(to: &end)
    try write(end)
  }
}

// MARK: - Entries of any size

extension ArchiveWriter {
  private struct Sizes {
    var size: UInt64
    var compressedSize: UInt64

    var isLong: Bool { ZIP64.needed(size) || ZIP64.needed(compressedSize) }
  }

  private static let step = 1 << 18

  /// Read twice: the checksum precedes the data, since streaming readers can't find the end of stored bytes unless they
  /// know the length first.
  private mutating func store(_ input: ArchiveInput, _ source: any ArchiveSource) throws(ArchiveError) {
    let sizes = Sizes(size: UInt64(input.size), compressedSize: UInt64(input.size))
    var crc = CRC32()
    try Self.pieces(of: source, input) { piece, _ throws(ArchiveError) in crc.update(piece) }
    let header = try begin(input, flags: .utf8, crc: crc.value, sizes, isLong: sizes.isLong)
    let start = offset
    var second = CRC32()
    try Self.pieces(of: source, input) { piece, _ throws(ArchiveError) in
      second.update(piece)
      try write(piece.bytes)
    }
    guard second.value == crc.value else { throw .wrongChecksum(input.name) }
    close(header, input, sizes, at: start)
  }

  /// The packed size is known only at the end: it is in a descriptor.
  private mutating func deflate(
    _ input: ArchiveInput, _ source: any ArchiveSource, _ deflater: borrowing Deflater
  ) throws(ArchiveError) {
    // Incompressible data grows by five bytes per 16 KB, so the size tells early whether four bytes suffice.
    let isLong = ZIP64.needed(UInt64(input.size) + UInt64(input.size) / 1000 + 1024)
    var header = try begin(
      input, flags: [.utf8, .hasDescriptor], crc: 0, Sizes(size: 0, compressedSize: 0), isLong: isLong)
    let start = offset
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.step, alignment: 16)
    defer { buffer.deallocate() }
    var crc = CRC32()
    deflater.begin()
    try Self.pieces(of: source, input) { piece, isLast throws(ArchiveError) in
      crc.update(piece)
      try deflater.update(piece, isLast: isLast, through: buffer) { compressed throws(ArchiveError) in
        try write(compressed)
      }
    }
    let sizes = Sizes(size: UInt64(input.size), compressedSize: offset - start)
    var descriptor: [UInt8] = []
    DataDescriptor(crc: crc.value, compressedSize: sizes.compressedSize, size: sizes.size)
      .append(to: &descriptor, isLong: isLong)
    try write(descriptor)
    header.crc = crc.value
    close(header, input, sizes, at: start)
  }

  /// Passes the bytes of a source in pieces; the last one is marked, and even an empty source has one.
  private static func pieces(
    of source: any ArchiveSource, _ input: ArchiveInput,
    _ body: (UnsafeRawBufferPointer, _ isLast: Bool) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
    defer { buffer.deallocate() }
    var done: Int64 = 0
    repeat {
      let wanted = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<Int(min(Int64(step), input.size - done))])
      guard try source.fill(wanted, from: done) == wanted.count else { throw .wrongSize(input.name) }
      done += Int64(wanted.count)
      try body(UnsafeRawBufferPointer(wanted), done == input.size)
    } while done < input.size
  }
}

// MARK: - Records

extension ArchiveWriter {
  /// Writes a local header. If `isLong` is true, the sizes are in an extra field, and the header's own are marked.
  private mutating func begin(
    _ input: ArchiveInput, flags: RecordFlags, crc: UInt32, _ sizes: Sizes, isLong: Bool
  ) throws(ArchiveError) -> LocalFileHeader {
    let name = Array(input.name.utf8)
    if let problem = EntryName.problem(of: name) { throw .unsafeName(input.name, problem) }
    guard names.insert(input.name).inserted else { throw .sameName(input.name) }
    var extra: [UInt8] = []
    if isLong { ZIP64Extra.append([sizes.size, sizes.compressedSize], to: &extra) }
    let header = LocalFileHeader(
      versionNeeded: isLong ? ZIP64.version : 20, flags: flags, method: input.method.rawValue, crc: crc,
      compressedSize: isLong ? ZIP64.mark32 : UInt32(sizes.compressedSize),
      size: isLong ? ZIP64.mark32 : UInt32(sizes.size), nameLength: UInt16(name.count),
      extraLength: UInt16(extra.count))
    var record: [UInt8] = []
    header.append(to: &record)
    try write(record + name + extra)
    return header
  }

  /// Appends an entry, whose data begins at `start`, to the directory.
  private mutating func close(
    _ local: LocalFileHeader, _ input: ArchiveInput, _ sizes: Sizes, at start: UInt64
  ) {
    let headerOffset =
      start - UInt64(LocalFileHeader.size) - UInt64(local.nameLength) - UInt64(local.extraLength)
    var extra: [UInt8] = []
    let long = [sizes.size, sizes.compressedSize, headerOffset].filter { ZIP64.needed($0) }
    if !long.isEmpty { ZIP64Extra.append(long, to: &extra) }
    var header = DirectoryHeader(local, offset: ZIP64.field(headerOffset))
    header.size = ZIP64.field(sizes.size)
    header.compressedSize = ZIP64.field(sizes.compressedSize)
    header.extraLength = UInt16(extra.count)
    if !long.isEmpty { header.versionNeeded = ZIP64.version }
    header.append(to: &directory)
    directory += Array(input.name.utf8)
    directory += extra
    count += 1
  }

  private mutating func write(_ bytes: [UInt8]) throws(ArchiveError) { try write(bytes.span.bytes) }

  private mutating func write(_ bytes: RawSpan) throws(ArchiveError) {
    try sink.write(bytes)
    offset += UInt64(bytes.byteCount)
  }
}
