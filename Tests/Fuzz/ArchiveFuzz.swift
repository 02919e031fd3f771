// A fuzz target for the ZIP reader. Built against the Archive target; see run.sh.
//
// The input is an archive. Beside what the sanitizer finds, it traps when an archive that was let through unpacks to
// more than its limits, has a name that leads elsewhere, or doesn't stay the same when it is written and read again.

@testable import Archive

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = start.map { [UInt8](UnsafeBufferPointer(start: $0, count: count)) } ?? []
  do {
    try Unpacked(input, strict: false).checkAgain()
  } catch {
    // The words of every error are made, too.
    precondition(!error.description.isEmpty)
  }
  return 0
}

/// What an archive holds.
struct Unpacked {
  private static let limits = ArchiveLimits(entries: 64, bytes: 1 << 20, maxRatio: 200)

  private var files: [(name: String, bytes: [UInt8])] = []

  /// - Parameter strict: a file that can't be read is a find.
  init(_ input: [UInt8], strict: Bool) throws(ArchiveError) {
    let archive = try Archive(ArchiveBytes(input), limits: Self.limits)
    precondition(archive.entries.count <= Self.limits.entries, "too many entries")
    var total: Int64 = 0
    for entry in archive.entries {
      precondition(EntryName.problem(of: Array(entry.name.utf8)) == nil, "an unsafe name")
      total += entry.size
      precondition(total <= Self.limits.bytes, "more than the limit")
      var bytes: [UInt8] = []
      do {
        try archive.read(entry) { piece throws(ArchiveError) in piece.withUnsafeBytes { bytes += Array($0) } }
      } catch {
        precondition(!strict, "what was written can't be read")
        continue
      }
      precondition(bytes.count == entry.size && CRC32.of(bytes) == entry.crc, "other bytes than listed")
      if !entry.isFolder { files.append((entry.name, bytes)) }
    }
  }

  /// Writes the files again and expects to read the same.
  func checkAgain() throws(ArchiveError) {
    let inputs = files.enumerated().map { index, file in
      ArchiveInput(file.name, index % 2 == 0 ? .deflate : .stored, bytes: file.bytes)
    }
    let sink = Sink()
    try Archive.write(inputs, threads: 1, to: sink)
    let again = try Unpacked(sink.bytes, strict: true)
    precondition(
      again.files.elementsEqual(files) { $0.name == $1.name && $0.bytes == $1.bytes }, "not the same")
  }

  private final class Sink: ArchiveSink {
    var bytes: [UInt8] = []

    func write(_ bytes: RawSpan) throws(ArchiveError) { bytes.withUnsafeBytes { self.bytes += Array($0) } }
  }
}
