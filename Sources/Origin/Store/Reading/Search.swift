import Manifests
import System

/// What is searched for, and where.
package struct SearchInput: Sendable {
  /// Found anywhere in a text, whether ASCII letters are capital or small.
  package let text: String
  /// Only these are searched.
  package let channels: [ChannelInfo]
  /// The most finds of each sort.
  package let limit: Int
  /// Nanoseconds after which it ends with what was found until then.
  package var time: UInt64 = 150_000_000

  /// Creates an input.
  package init(text: String, channels: [ChannelInfo], limit: Int) {
    self.text = text
    self.channels = channels
    self.limit = limit
  }
}

/// What was found; each sort with its newest first.
package struct SearchFinds: Sendable {
  /// A version of something in a channel.
  package struct Version: Sendable {
    /// The place of its channel in `SearchInput.channels`.
    package let channel: Int
    package let version: Int64
    /// `publish`, `rollback` and so on of a release; `policy` or `prefetch` of a change.
    package let kind: String
    /// Milliseconds since 1970.
    package let at: Int64
    package let author: String
    package let message: String
  }

  /// A URL.
  package struct File: Sendable {
    /// The place of its channel in `SearchInput.channels`.
    package let channel: Int
    package let url: String
    /// The newest version that has it.
    package let version: Int64
  }

  /// Somebody who made releases.
  package struct Person: Sendable {
    package let name: String
    /// When the last of them was made, in milliseconds since 1970.
    package fileprivate(set) var last: Int64
    package fileprivate(set) var releases: Int
  }

  package fileprivate(set) var releases: [Version] = []
  package fileprivate(set) var files: [File] = []
  package fileprivate(set) var people: [Person] = []
  package fileprivate(set) var changes: [Version] = []
  /// Whether there may be more than this.
  package fileprivate(set) var isCut = false
}

extension Store {
  /// Searches releases, URLs, people and changes of documents. The work is bounded by time, and the memory by the limit: only names of
  /// people are counted before the newest of them are known, some thousand at most.
  package func search(_ input: SearchInput) throws(StoreError) -> SearchFinds {
    try connections.reading { (db) throws(StoreError) in
      var run = SearchRun(input)
      do throws(StoreError) {
        try run.search(db)
      } catch .cancelled where run.hasEnded && Cancellation.current?.isCancelled != true {
        // What was found until now is the answer.
      }
      return run.finds
    }
  }
}

/// One search.
private struct SearchRun {
  private let input: SearchInput
  private let pattern: String
  private let deadline: UInt64
  /// Whether it has ended before it had looked at everything.
  private(set) var hasEnded = false
  private var isLate = false
  private var found = SearchFinds()
  private var people: [String: SearchFinds.Person] = [:]
  private var live: [SearchFinds.File] = []
  private var gone: [SearchFinds.File] = []

  /// Rows between two looks at the clock: about a tenth of a millisecond.
  private static let rowsBetweenLooks = 500
  private static let maxPeople = 5000

  init(_ input: SearchInput) {
    self.input = input
    pattern = Self.pattern(input.text)
    deadline = Clock.monotonicNanoseconds() &+ input.time
  }

  /// A LIKE pattern for any text that has `text` in it. "LIKE … is case sensitive by default for unicode characters that are beyond the
  /// ASCII range" (sqlite.org/lang_expr.html).
  private static func pattern(_ text: String) -> String {
    var pattern = "%"
    for scalar in text.unicodeScalars {
      if scalar == "%" || scalar == "_" || scalar == "\\" { pattern.unicodeScalars.append("\\") }
      pattern.unicodeScalars.append(scalar)
    }
    return pattern + "%"
  }

  /// The finds so far.
  var finds: SearchFinds {
    var finds = found
    let limit = input.limit
    finds.releases = Self.newest(finds.releases, limit)
    finds.changes = Self.newest(finds.changes, limit)
    finds.files = Array((live + gone).prefix(limit))
    finds.people = Array(
      people.values.sorted { ($1.last, $0.name) < ($0.last, $1.name) }.prefix(limit))
    finds.isCut =
      isLate || found.isCut || found.releases.count > limit || found.changes.count > limit
      || live.count + gone.count > limit || people.count > limit
    return finds
  }

  private static func newest(_ versions: [SearchFinds.Version], _ limit: Int) -> [SearchFinds.Version] {
    Array(versions.sorted { $0.at > $1.at }.prefix(limit))
  }

  /// Searches what is small first, so that a late search lacks URLs only.
  mutating func search(_ db: Database) throws(StoreError) {
    for index in input.channels.indices {
      try look()
      try searchReleases(of: index, db)
      try searchChanges(of: index, db)
    }
    for index in input.channels.indices {
      try look()
      try searchFiles(of: index, db)
    }
  }

  /// - Throws: `cancelled` once the time is over.
  private mutating func look() throws(StoreError) {
    guard Clock.monotonicNanoseconds() >= deadline else { return }
    (isLate, hasEnded) = (true, true)
    throw .cancelled
  }

  private mutating func searchReleases(of index: Int, _ db: Database) throws(StoreError) {
    let channel = input.channels[index].id
    // One more than the limit says that there are more.
    let releases = try db.all(
      """
      SELECT version, kind, at, author, message FROM release
      WHERE channel_id = ?1 AND (version = ?2 OR message LIKE ?3 ESCAPE '\\' OR author LIKE ?3 ESCAPE '\\')
      ORDER BY version DESC LIMIT ?4
      """, channel, number, pattern, input.limit + 1
    ) { row in
      SearchFinds.Version(
        channel: index, version: row.get(0), kind: row.get(1), at: row.get(2), author: row.get(3),
        message: row.get(4))
    }
    keep(releases, in: \.releases)
    let authors = try db.all(
      """
      SELECT author, count(*), max(at) FROM release
      WHERE channel_id = ?1 AND author LIKE ?2 ESCAPE '\\' GROUP BY author LIMIT ?3
      """, channel, pattern, Self.maxPeople
    ) { SearchFinds.Person(name: $0.get(0), last: $0.get(2), releases: $0.get(1)) }
    for person in authors {
      guard people[person.name] != nil || people.count < Self.maxPeople else {
        found.isCut = true
        continue
      }
      people[person.name, default: .init(name: person.name, last: person.last, releases: 0)].releases +=
        person.releases
      let last = people[person.name]?.last ?? 0
      people[person.name]?.last = max(last, person.last)
    }
  }

  private mutating func searchChanges(of index: Int, _ db: Database) throws(StoreError) {
    let changes = try db.all(
      """
      SELECT version, name, at, author, message FROM document
      WHERE channel_id = ?1 AND (message LIKE ?2 ESCAPE '\\' OR author LIKE ?2 ESCAPE '\\')
      ORDER BY at DESC LIMIT ?3
      """, input.channels[index].id, pattern, input.limit + 1
    ) { row in
      SearchFinds.Version(
        channel: index, version: row.get(0), kind: row.get(1), at: row.get(2), author: row.get(3),
        message: row.get(4))
    }
    keep(changes, in: \.changes)
  }

  /// Searches the URLs of a channel in an index that has them whole. Those of the newest version come first.
  private mutating func searchFiles(of index: Int, _ db: Database) throws(StoreError) {
    let channel = input.channels[index]
    var rows = 0
    try db.each(
      "SELECT id, text, text LIKE ?2 ESCAPE '\\' FROM url WHERE channel_id = ?1 ORDER BY text", channel.id,
      pattern
    ) { (row) throws(StoreError) in
      rows += 1
      if rows.isMultiple(of: Self.rowsBetweenLooks) { try look() }
      guard row.get(2, as: Int64.self) != 0 else { return }
      if rows > Self.rowsBetweenLooks { try look() }
      // NULL: the newest version has it. No row at all: no kept version does.
      let last = try db.first(
        "SELECT max(coalesce(until, 0) = 0), max(until) - 1 FROM entry WHERE url_id = ?",
        row.get(0, as: Int64.self)
      ) { (isLive: $0.get(0, as: Int64?.self), version: $0.get(1, as: Int64?.self)) }
      guard let last, let isLive = last.isLive else { return }
      let version = isLive == 1 ? channel.version.number : last.version ?? 0
      let file = SearchFinds.File(channel: index, url: row.get(1), version: version)
      if isLive != 1 {
        if gone.count <= input.limit { gone.append(file) }
        return
      }
      live.append(file)
      guard live.count > input.limit else { return }
      hasEnded = true
      throw .cancelled
    }
  }

  /// Keeps the newest, and one more than the limit.
  private mutating func keep(
    _ versions: [SearchFinds.Version], in list: WritableKeyPath<SearchFinds, [SearchFinds.Version]>
  ) {
    guard !versions.isEmpty else { return }
    found[keyPath: list] = Self.newest(found[keyPath: list] + versions, input.limit + 1)
  }

  /// The version that is meant, if the text is a number.
  private var number: Int64 { Int64(input.text).flatMap { $0 > 0 ? $0 : nil } ?? -1 }
}
