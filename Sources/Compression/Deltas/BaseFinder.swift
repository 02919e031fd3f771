/// Finds, among many older files, those that a new file is most likely a change of.
///
/// An inverted list of sketches, which keeps only hashes that some wanted file has: its size follows the smaller
/// side.
package struct BaseFinder: Sendable {
  /// A file as far as it matters for finding its relatives.
  package struct File: Sendable {
    /// Its name without what changes from build to build.
    package let name: StableName
    /// Bytes.
    package let size: Int
    /// What its content is like.
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
  /// Of each ending, by size.
  private var kinds: [Substring: [Int]] = [:]

  /// - Parameter wanted: the sketches of the files whose bases will be asked for.
  package init(wanted: some Sequence<Sketch>) {
    for sketch in wanted { for hash in sketch.hashes { holders[hash] = [] } }
  }

  /// Adds a file that may be a base; it is known by how many were added before it.
  package mutating func add(_ file: File) {
    let number = candidates.count
    candidates.append(Candidate(name: file.name, size: file.size))
    for hash in file.sketch.hashes { holders[hash]?.append(Int32(number)) }
    named[file.name, default: []].append(number)
    kinds[file.name.ending, default: []].append(number)
  }

  /// Called once, between the last `add` and the first question.
  package mutating func seal() {
    for key in kinds.keys { kinds[key]?.sort { candidates[$0].size < candidates[$1].size } }
  }

  /// Bases that are tried for a file; small ones cost little, so more of them are.
  private static func tries(_ size: Int) -> Int { size <= small ? 8 : 3 }
  private static let small = 32 << 10

  /// The files to try as a base, likeliest first.
  ///
  /// What has most in common goes first; the same folder and name without its hash, then the nearest size, break
  /// ties. A namesake is always among them, whatever its content. For small files, whose sketch says little, places
  /// that are left go to the files of their kind that are nearest in size.
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

  /// How many hashes each file has in common with a sketch, of those that have any.
  private func shares(with sketch: Sketch) -> [Int: Int] {
    var shares: [Int: Int] = [:]
    for hash in sketch.hashes {
      for number in holders[hash] ?? [] { shares[Int(number), default: 0] += 1 }
    }
    return shares
  }

  /// The files of the same kind around a file's size.
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
