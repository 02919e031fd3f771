import System

// A change list is a sequence of columns, so that similar values are adjacent and compress well (docs/protocol.md,
// "Packs"). Every number is a varint.
//
//   touched    how many, then the gap before each: the entries between it and the previous one
//   arrivals   how many, then for all of them, column by column:
//     partner    0: none; else 1 + zigzag(index in `touched` − expected), where the index after the last is expected
//     shared     bytes that its URL has in common with its partner's (if none: with the URL of the arrival before it)
//                at the start; then, as a column of its own, at the end
//     middle     how many bytes are between these; then the bytes of all arrivals
//     source     one byte each: 0 record over the partner's file, 1 the same, renamed, 2 record over another file,
//                3 the same, renamed, 4 record over nothing, 5 held under another entry, 6 of an earlier arrival,
//                7 the partner's file as it is, 8 of nowhere: the device may not hold it
//     other      for 2, 3 and 5 an index in the base manifest, for 6 an index in the arrivals
//     identity   for 8 MD5, SHA-256 and size
//     version    resource version
//     since      the pack's version minus the manifest version in its `download`, modulo 2^53
//     form       0: as the partner's; else 1 + an index in the forms
//   forms      how many, then each: bytes, and the JSON
extension PackChanges {
  enum Code {
    static let partner: UInt8 = 0
    static let partnerRenamed: UInt8 = 1
    static let other: UInt8 = 2
    static let otherRenamed: UInt8 = 3
    static let nothing: UInt8 = 4
    static let held: UInt8 = 5
    static let arrival: UInt8 = 6
    static let partnerHeld: UInt8 = 7
    static let absent: UInt8 = 8
  }

  /// Returns the change list as sent, before compression.
  /// - Parameters:
  ///   - version: the version that the pack leads to.
  ///   - old: the touched entries of the base manifest, in order.
  package func bytes(version: ManifestVersion, old: [ManifestItem]) -> [UInt8] {
    var out: [UInt8] = []
    Varint.append(touched.count, to: &out)
    for (number, index) in touched.enumerated() {
      Varint.append(number == 0 ? index : index - touched[number - 1] - 1, to: &out)
    }
    Varint.append(arrivals.count, to: &out)
    appendPartners(to: &out)
    appendURLs(old, to: &out)
    appendSources(to: &out)
    for arrival in arrivals { Varint.append(arrival.version, to: &out) }
    for arrival in arrivals {
      // Masked, so that a version above the pack's, which no origin makes, doesn't trap.
      Varint.append((version.number - arrival.manifestVersion.number) & Varint.largest, to: &out)
    }
    appendForms(old, to: &out)
    return out
  }

  private func appendPartners(to out: inout [UInt8]) {
    var expected = 0
    for arrival in arrivals {
      guard let partner = arrival.partner else {
        Varint.append(0, to: &out)
        continue
      }
      let step = partner - expected
      Varint.append(1 + (step >= 0 ? 2 * step : -2 * step - 1), to: &out)
      expected = partner + 1
    }
  }

  private func appendURLs(_ old: [ManifestItem], to out: inout [UInt8]) {
    var cuts: [(start: Int, end: Int, middle: ArraySlice<UInt8>)] = []
    var last: [UInt8] = []
    for arrival in arrivals {
      let url = Array(arrival.url.text.utf8)
      let like = arrival.partner.map { Array(old[$0].url.text.utf8) } ?? last
      let shortest = min(url.count, like.count)
      let start = zip(url, like).prefix { $0 == $1 }.count
      let end = min(zip(url.reversed(), like.reversed()).prefix { $0 == $1 }.count, shortest - start)
      cuts.append((start, end, url[start..<url.count - end]))
      last = url
    }
    for cut in cuts { Varint.append(cut.start, to: &out) }
    for cut in cuts { Varint.append(cut.end, to: &out) }
    for cut in cuts { Varint.append(cut.middle.count, to: &out) }
    for cut in cuts { out += cut.middle }
  }

  private func appendSources(to out: inout [UInt8]) {
    var others: [Int] = []
    var files: [FileDigest] = []
    for arrival in arrivals {
      let partner = arrival.partner.map { touched[$0] }
      switch arrival.source {
      case .record(nil, _): out.append(Code.nothing)
      case .record(let base?, let isRenamed) where base == partner:
        out.append(isRenamed ? Code.partnerRenamed : Code.partner)
      case .record(let base?, let isRenamed):
        out.append(isRenamed ? Code.otherRenamed : Code.other)
        others.append(base)
      case .held(let index) where index == partner: out.append(Code.partnerHeld)
      case .held(let index):
        out.append(Code.held)
        others.append(index)
      case .arrival(let index):
        out.append(Code.arrival)
        others.append(index)
      case .absent(let file):
        out.append(Code.absent)
        files.append(file)
      }
    }
    for other in others { Varint.append(other, to: &out) }
    for file in files {
      out += file.md5.bytes
      out += file.sha256.bytes
      Varint.append(file.size, to: &out)
    }
  }

  private func appendForms(_ old: [ManifestItem], to out: inout [UInt8]) {
    var forms: [EntryForm] = []
    var numbers: [EntryForm: Int] = [:]
    for arrival in arrivals {
      if let partner = arrival.partner, EntryForm(old[partner].entry) == arrival.form {
        Varint.append(0, to: &out)
        continue
      }
      let number = numbers[arrival.form] ?? forms.count
      if number == forms.count {
        forms.append(arrival.form)
        numbers[arrival.form] = number
      }
      Varint.append(1 + number, to: &out)
    }
    Varint.append(forms.count, to: &out)
    for form in forms {
      let json = form.json.canonical
      Varint.append(json.count, to: &out)
      out += json
    }
  }
}
