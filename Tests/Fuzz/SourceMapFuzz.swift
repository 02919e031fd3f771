// A fuzz target for source maps: documents of up to 64 MB that a publisher's build tools wrote. Compiled together with the sources that
// read them; see run.sh.
//
// Beside what the sanitizer finds, it traps where a map takes much more memory than its bytes, or gives a place that no source can have.

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 3 else { return 0 }
  let (line, column) = (Int(start[0] >> 4), Int(start[1]) << 2 | Int(start[0] & 3))
  let input = [UInt8](UnsafeBufferPointer(start: start + 2, count: count - 2))
  do throws(SourceMapError) {
    let map = try SourceMap(input)
    // The sections of an index map have a size of their own.
    if map.cost > 2 * input.count + 64 * 1024 {
      fatalError("a map of \(input.count) bytes takes \(map.cost)")
    }
    for place in [(line, column), (1, 1), (1, 78), (2, column), (Int.max, Int.max)] {
      guard let found = map.place(line: place.0, column: place.1) else { continue }
      guard found.line > 0, found.column > 0, found.file.utf8.count <= 1024,
        (found.name ?? "").utf8.count <= 256
      else { fatalError("a place that isn't one") }
      guard let excerpt = map.excerpt(at: found) else { continue }
      guard excerpt.firstLine > 0, (1...5).contains(excerpt.lines.count),
        (excerpt.firstLine..<excerpt.firstLine + excerpt.lines.count).contains(found.line),
        excerpt.lines.allSatisfy({ $0.utf8.count <= 200 && !$0.utf8.contains { $0 < 0x20 && $0 != 0x09 } })
      else { fatalError("an excerpt that isn't one") }
    }
  } catch {
    if error.message.isEmpty { fatalError("a refusal without words") }
  }
  return 0
}
