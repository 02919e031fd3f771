/// Decodes literals from one stream of Huffman codes, or from four in parallel (RFC 8878 §4.2.2).
///
/// The fast loop reads five symbols, at most 55 bits, of each stream from 8 loaded bytes, then moves back by at most 7 bytes.
/// How often it can do so before a load could begin before its stream, or an output be full, is computed beforehand; the rest
/// is read symbol by symbol, with checks.
struct HuffmanStreams {
  let table: UnsafePointer<UInt16>
  /// 64 minus the length of the longest code: shifting by it leaves the index of a table row.
  let shift: UInt64

  init(_ table: UnsafePointer<UInt16>, bits: Int) {
    self.table = table
    shift = UInt64(64 - bits)
  }

  /// The state of a stream: where it is read, and where its symbols are written.
  private struct Stream {
    let start: UnsafeRawPointer
    /// The position of the 8 loaded bytes.
    var next: UnsafeRawPointer
    /// Their bits, the next one on top, with a one-bit after the last: the number of zeros below it is the number of bits
    /// read. It replaces a bit that isn't read before the next load, since at most 8 + 55 are.
    var bits: UInt64
    var out: UnsafeMutablePointer<UInt8>
    let end: UnsafeMutablePointer<UInt8>

    /// Begins a stream of at least 8 bytes; nil without an end mark.
    init?(
      _ start: UnsafeRawPointer, _ count: Int, _ out: UnsafeMutablePointer<UInt8>,
      _ end: UnsafeMutablePointer<UInt8>
    ) {
      let last = start.load(fromByteOffset: count - 1, as: UInt8.self)
      guard count >= 8, last != 0 else { return nil }
      self.start = start
      self.out = out
      self.end = end
      next = start + (count - 8)
      bits = 0
      load(read: last.leadingZeroBitCount + 1)
    }

    @inline(__always)
    mutating func load(read: Int) {
      let word = UInt64(littleEndian: next.loadUnaligned(as: UInt64.self))
      bits = (word | 1) &<< UInt64(truncatingIfNeeded: read)
    }

    @inline(__always)
    mutating func refill() {
      let read = bits.trailingZeroBitCount
      next -= read &>> 3
      load(read: read & 7)
    }

    /// How many times five symbols can safely be read.
    @inline(__always)
    var rounds: Int { min((next - start) / 7, (end - out) / 5) }

    @inline(__always)
    mutating func five(_ table: UnsafePointer<UInt16>, _ shift: UInt64) {
      one(0, table, shift)
      one(1, table, shift)
      one(2, table, shift)
      one(3, table, shift)
      one(4, table, shift)
    }

    @inline(__always)
    private mutating func one(_ index: Int, _ table: UnsafePointer<UInt16>, _ shift: UInt64) {
      let row = table[Int(truncatingIfNeeded: bits &>> shift)]
      out[index] = UInt8(truncatingIfNeeded: row &>> 8)
      bits = bits &<< UInt64(row & 0xFF)
    }

    @inline(__always)
    mutating func advance() {
      out += 5
      refill()
    }

    /// The rest of the stream, for the checked loop.
    var rest: ReverseBits { ReverseBits(start, left: (next - start) * 8 + 64 - bits.trailingZeroBitCount) }
  }

  /// Decodes one stream.
  /// - Returns: whether the stream's `count` bytes contained exactly the `size` literals at `out`.
  @inline(never)
  func decode(
    _ start: UnsafeRawPointer, count: Int, to out: UnsafeMutablePointer<UInt8>, size: Int
  ) -> Bool {
    guard count >= 8 else {
      return ReverseBits(start, count: count).map { finish($0, out, out + size) } ?? false
    }
    guard var stream = Stream(start, count, out, out + size) else { return false }
    while true {
      var rounds = stream.rounds
      if rounds == 0 { return finish(stream.rest, stream.out, stream.end) }
      while rounds > 0 {
        stream.five(table, shift)
        stream.advance()
        rounds &-= 1
      }
    }
  }

  /// Decodes four streams.
  /// - Parameters:
  ///   - start: the first stream, directly followed by the others.
  ///   - counts: the size of each stream in bytes.
  ///   - out: where to write the literals.
  ///   - size: the number of literals.
  /// - Returns: whether the streams contained exactly the `size` literals at `out`.
  @inline(never)
  func decode(
    _ start: UnsafeRawPointer, counts: (Int, Int, Int, Int), to out: UnsafeMutablePointer<UInt8>, size: Int
  ) -> Bool {
    // "(Regenerated_Size+3)/4, except for the last stream which may be up to 3 bytes smaller"
    let part = (size + 3) / 4
    guard 3 * part <= size else { return false }
    let starts = (
      start, start + counts.0, start + counts.0 + counts.1, start + counts.0 + counts.1 + counts.2
    )
    let outs = (out, out + part, out + 2 * part, out + 3 * part)
    guard min(counts.0, counts.1, counts.2, counts.3) >= 8 else {
      return decode(starts.0, count: counts.0, to: outs.0, size: part)
        && decode(starts.1, count: counts.1, to: outs.1, size: part)
        && decode(starts.2, count: counts.2, to: outs.2, size: part)
        && decode(starts.3, count: counts.3, to: outs.3, size: size - 3 * part)
    }
    guard var a = Stream(starts.0, counts.0, outs.0, outs.1),
      var b = Stream(starts.1, counts.1, outs.1, outs.2),
      var c = Stream(starts.2, counts.2, outs.2, outs.3),
      var d = Stream(starts.3, counts.3, outs.3, out + size)
    else { return false }
    let (table, shift) = (table, shift)
    while true {
      var rounds = min(a.rounds, b.rounds, c.rounds, d.rounds)
      if rounds == 0 { break }
      while rounds > 0 {
        a.five(table, shift)
        b.five(table, shift)
        c.five(table, shift)
        d.five(table, shift)
        a.advance()
        b.advance()
        c.advance()
        d.advance()
        rounds &-= 1
      }
    }
    return finish(a.rest, a.out, a.end) && finish(b.rest, b.out, b.end)
      && finish(c.rest, c.out, c.end) && finish(d.rest, d.out, d.end)
  }

  /// Reads symbol by symbol; `false` if bits are left at the end, or there are too few.
  private func finish(
    _ bits: ReverseBits, _ out: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    var (bits, out) = (bits, out)
    let width = Int(64 - shift)
    while out < end {
      guard bits.left > 0 else { return false }
      bits.refill()
      let row = table[bits.peek(width)]
      out.pointee = UInt8(truncatingIfNeeded: row &>> 8)
      out += 1
      bits.skip(Int(row & 0xFF))
    }
    return bits.left == 0
  }
}
