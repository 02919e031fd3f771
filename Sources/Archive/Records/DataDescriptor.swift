/// Checksum and sizes behind the data of an entry that was written without knowing them (APPNOTE.TXT 4.3.9).
struct DataDescriptor {
  static let signature: UInt32 = 0x0807_4b50
  /// Bytes of the longest form: with its signature, which is optional, and sizes of eight bytes.
  static let largestSize = 24

  let crc: UInt32
  let packedSize: UInt64
  let size: UInt64

  /// Bytes of the form in which these values stand at the start of `bytes`; nil where they don't.
  func length(in bytes: RawSpan) -> Int? {
    var forms: [(hasSignature: Bool, isLong: Bool)] = [
      (true, false), (true, true), (false, false), (false, true),
    ]
    if ZIP64.needed(packedSize) || ZIP64.needed(size) { forms.removeAll { !$0.isLong } }
    for form in forms where stands(in: bytes, form.hasSignature, form.isLong) {
      return (form.hasSignature ? 8 : 4) + (form.isLong ? 16 : 8)
    }
    return nil
  }

  private func stands(in bytes: RawSpan, _ hasSignature: Bool, _ isLong: Bool) -> Bool {
    let start = hasSignature ? 4 : 0
    guard bytes.byteCount >= start + 4 + (isLong ? 16 : 8) else { return false }
    if hasSignature, bytes.u32(0) != Self.signature { return false }
    guard bytes.u32(start) == crc else { return false }
    return isLong
      ? bytes.u64(start + 4) == packedSize && bytes.u64(start + 12) == size
      : UInt64(bytes.u32(start + 4)) == packedSize && UInt64(bytes.u32(start + 8)) == size
  }

  func append(to out: inout [UInt8], isLong: Bool) {
    out.append(number: Self.signature)
    out.append(number: crc)
    if isLong {
      out.append(number: packedSize)
      out.append(number: size)
    } else {
      out.append(number: UInt32(packedSize))
      out.append(number: UInt32(size))
    }
  }
}
