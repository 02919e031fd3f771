// A fuzz target for the zstd decoder, beside libzstd. Built with the support files of Tests/Common/ZstdTests; see run.sh.
//
// The first byte says whether there is a dictionary, and in which pieces the rest comes, which are zstd frames. Beside what
// the sanitizer finds, it traps where the pieces change what comes out, or where libzstd comes to another verdict or to other
// bytes, but for the rules that `Comparison.isStricter` names.

import Zstd

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 0 else { return 0 }
  let coded = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  let dictionary = start[0] & 1 == 0 ? [] : sample
  if let difference = Comparison.difference(coded, dictionary: dictionary, windowLog: windowLog) {
    fatalError("\(difference)")
  }
  let whole = Comparison.decode(coded, dictionary: dictionary, windowLog: windowLog)
  let pieces = Comparison.decode(
    coded, dictionary: dictionary, pieces: 1 + Int(start[0] >> 1), windowLog: windowLog)
  precondition(
    whole.bytes == pieces.bytes && whole.error == pieces.error, "the pieces changed what comes out")
  return 0
}

/// Small: the sanitizer marks every byte of a window that is made.
private let windowLog: Int32 = 17

/// What the seeds with a dictionary are over.
private let sample = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 4 & 0x5F) }
