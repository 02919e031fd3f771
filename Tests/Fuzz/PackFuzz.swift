// A fuzz target for the pack reader. Built against Manifests and Compression, with the device of their tests; see run.sh.
//
// The first byte says what the rest is: a pack, in two pieces; a change list by itself, which else only a right check lets
// through; or the frame of a file. Beside what the sanitizer finds, it traps where a split changes the result, a list isn't
// the same when it is written and read again, or more comes out than the limit.

import Compression
import System

@testable import Manifests

/// libFuzzer calls this with each input; 0 keeps the input in its reckoning.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard let start, count > 1 else { return 0 }
  let input = [UInt8](UnsafeBufferPointer(start: start + 1, count: count - 1))
  switch start[0] & 3 {
  case 0, 1: readPack(input, split: input.count * Int(start[0] >> 2) / 63)
  case 2: readList(input, start[0] & 4 == 0 ? .whole : .partial)
  default: readFrame(input, isOverBase: start[0] & 4 != 0)
  }
  return 0
}

private let limit: Int64 = 1 << 16

private let sample: PackSample = {
  guard let sample = try? PackSample(seed: 5, count: 5, words: 12) else {
    fatalError("the sample can't be made")
  }
  return sample
}()
private let held = sample.held

private func readPack(_ input: [UInt8], split: Int) {
  func outcome(_ pieces: [ArraySlice<UInt8>]) -> ([[UInt8]], String) {
    let device = PackDevice(sample.base, held: held, limit: limit)
    do {
      for piece in pieces { try device.take(piece) }
      let manifest = try device.finish().manifest
      precondition(manifest.version.number > sample.base.version.number, "it leads back")
      return (device.records, "\(manifest.map.digest)")
    } catch {
      return (device.records, "an error")
    }
  }
  let whole = outcome([input[...]])
  precondition(whole == outcome([input[..<split], input[split...]]), "a split changed the result")
  precondition(whole.0.allSatisfy { $0.count <= limit }, "a file over the limit")
}

private func readList(_ input: [UInt8], _ format: PackFormat) {
  let version = ManifestVersion(9)
  func read(_ bytes: [UInt8], limit: Int64 = PackChanges.largest) -> PackChanges? {
    try? PackChanges(bytes, format, version: version, base: sample.base.items, limit: limit)
  }
  guard let list = read(input, limit: limit) else { return }
  precondition(format == .partial || list.absent.isEmpty, "XPK1 leaves a file out")
  let old = list.touched.map { sample.base.items[$0] }
  let again = list.bytes(version: version, old: old)
  precondition(read(again) == list, "not the same")
  let digests = list.arrivals.map { arrival in
    arrival.source.absentFile ?? PackSample.digest(of: Array(arrival.url.text.utf8))
  }
  let new = try? list.applied(to: sample.base, version: version, digests: digests)
  if let new {
    // A device writes it and reads it again.
    precondition(new.map.bytes.count < 10 * Int(limit), "more than the limit")
    precondition(zip(new.items, new.items.dropFirst()).allSatisfy { $0.url < $1.url }, "out of order")
    for item in new.items {
      precondition((try? Entry(parsing: item.entry.canonicalJSON)) == item.entry, "no entry")
    }
    for arrival in list.arrivals where arrival.source.absentFile != nil {
      precondition(new[arrival.url]?.isLazy == true, "a file is left out that updates need")
    }
  }
  let renaming = list.renaming(old: old)
  for file in held.values {
    precondition(renaming.applied(to: file)?.count ?? 0 <= 2 * file.count, "more than twice as long")
  }
}

private func readFrame(_ input: [UInt8], isOverBase: Bool) {
  let base = isOverBase ? held.values.max { $0.count < $1.count } : nil
  let file = try? PackFrame.decode(input, base: base, limit: limit)
  precondition(file?.count ?? 0 <= limit, "more than the limit")
}
