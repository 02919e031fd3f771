/// Finds, among many older files, those of which a new file is most likely a changed version.
///
/// An inverted index of sketches that keeps only the hashes of wanted files, so that its size depends on the
/// smaller side.
package struct BaseFinder: Sendable {
  /// The properties of a file by which similar files are found.
  package struct File: Sendable {
    /// Its name without the parts that change between builds.
    package let name: StableName
    /// The size in bytes.
    package let size: Int
    /// The sketch of its content.
    package let sketch: Sketch

    package init(name: StableName, size: Int, sketch: Sketch) {
      self.name = name
      self.size = size
      self.sketch = sketch
    }
  }

  private struct Candidate {
    let name: StableName
    let size: Int
  }

  private var candidates: [Candidate] = []
  private var holders: [UInt64: [Int32]] = [:]
  private var named: [StableName: [Int]] = [:]
  /// The candidates of each extension, sorted by size.
  private var kinds: [Substring: [Int]] = [:]

  /// - Parameter wanted: the sketches of the files for which bases will be requested.
  package init(wanted: some Sequence<Sketch>) {
    for sketch in wanted { for hash in sketch.hashes { holders[hash] = [] } }
  }

  /// Adds a candidate for a base, which is identified by the number of files added before it.
  package mutating func add(_ file: File) {
    let number = candidates.count
    candidates.append(Candidate(name: file.name, size: file.size))
    for hash in file.sketch.hashes { holders[hash]?.append(Int32(number)) }
    named[file.name, default: []].append(number)
    kinds[file.name.ending, default: []].append(number)
  }

  /// Prepares for searching. Call it once, between the last `add(_:)` and the first `bases(for:)`.
  package mutating func seal() {
    for key in kinds.keys { kinds[key]?.sort { candidates[$0].size < candidates[$1].size } }
  }

  /// Returns how many bases to try for a file; small files are cheap, so more are tried.
  private static func tries(_ size: Int) -> Int { size <= small ? 8 : 3 }
  private static let small = 32 << 10

  /// Returns the files to try as a base, the most likely first.
  ///
  /// Files are ranked by the number of shared hashes; ties are broken by an equal stable name, then by the nearest
  /// size. A file with the same stable name is always included, whatever its content. For small files, whose
  /// sketches say little, the list is filled up with files of the same extension and of the nearest size.
  package func bases(for file: File) -> [Int] {
    let limit = Self.tries(file.size)
    let shares = shares(with: file.sketch)
    var chosen = shares.keys.sorted { a, b in
      let counts = (shares[a] ?? 0, shares[b] ?? 0)
      return counts.0 != counts.1 ? counts.0 > counts.1 : isNearer(a, than: b, to: file)
    }
    chosen = Array(chosen.prefix(limit))
    let namesakes = (named[file.name] ?? []).filter { !chosen.contains($0) }
    if let nearest = namesakes.min(by: { isNearer($0, than: $1, to: file) }) {
      if chosen.count == limit { chosen.removeLast() }
      chosen.append(nearest)
    }
    guard file.size <= Self.small else { return chosen }
    for number in alike(file, limit) where chosen.count < limit && !chosen.contains(number) {
      chosen.append(number)
    }
    return chosen
  }

  /// Returns how many hashes each file shares with a sketch, for files that share any.
  private func shares(with sketch: Sketch) -> [Int: Int] {
    var shares: [Int: Int] = [:]
    for hash in sketch.hashes {
      for number in holders[hash] ?? [] { shares[Int(number), default: 0] += 1 }
    }
    return shares
  }

  /// Returns the files of the same extension around a file's size.
  private func alike(_ file: File, _ count: Int) -> ArraySlice<Int> {
    let group = kinds[file.name.ending] ?? []
    var low = 0
    var high = group.count
    while low < high {
      let middle = (low + high) / 2
      if candidates[group[middle]].size < file.size { low = middle + 1 } else { high = middle }
    }
    return group[max(0, low - count / 2)..<min(group.count, low + count)]
  }

  private func isNearer(_ a: Int, than b: Int, to file: File) -> Bool {
    let (one, other) = (candidates[a], candidates[b])
    if (one.name == file.name) != (other.name == file.name) { return one.name == file.name }
    let distances = (abs(one.size - file.size), abs(other.size - file.size))
    return distances.0 != distances.1 ? distances.0 < distances.1 : a < b
  }
}
