import Manifests
import System
import Values

/// The URLs of a manifest with their contents, in 64 bytes each plus the URL.
///
/// Everything is in two blocks of memory, which go back to the system when the table is released; 100,000 separate URLs
/// and contents would leave the heap fragmented.
package struct ContentTable: RandomAccessCollection, Sendable {
  /// A URL and its content.
  package typealias Element = (url: ResourceURL, content: ResourceContent)

  private struct Row {
    let md5: MD5
    let sha256: SHA256
    let size: Int64
    /// The end of the URL in `text`; it begins where the previous one ends.
    let end: UInt32
    let form: UInt32
  }

  /// What many contents have in common.
  private struct Form: Hashable {
    let ctype: ContentType
    let headers: EntryHeaders
    let fallbacks: PageFallbacks
    let isLazy: Bool
  }

  private var text: [UInt8] = []
  private var rows: [Row] = []
  private var forms: [Form] = []
  private var formIndices: [Form: UInt32] = [:]

  /// Creates an empty table.
  package init() {}

  /// The most bytes of URLs: enough for ten million of 400 bytes each.
  private static let maxTextSize = Int(UInt32.max)

  /// Appends a URL. For `index(of:)` to work, it has to sort after those that are there.
  package mutating func append(_ url: ResourceURL, _ content: ResourceContent) {
    text.append(contentsOf: url.text.utf8)
    guard text.count <= Self.maxTextSize else { fatalError("a manifest of more than 4 GB of URLs") }
    rows.append(
      Row(
        md5: content.md5, sha256: content.sha256, size: content.size, end: UInt32(text.count),
        form: formIndex(
          of: Form(
            ctype: content.ctype, headers: content.headers, fallbacks: content.fallbacks,
            isLazy: content.isLazy))))
  }

  private mutating func formIndex(of form: Form) -> UInt32 {
    // A file is usually of the same type as the previous one.
    if let last = rows.last?.form, forms[Int(last)] == form { return last }
    if let known = formIndices[form] { return known }
    let new = UInt32(forms.count)
    forms.append(form)
    formIndices[form] = new
    return new
  }

  package var startIndex: Int { 0 }
  package var endIndex: Int { rows.count }

  package subscript(index: Int) -> Element {
    let row = rows[index]
    let form = forms[Int(row.form)]
    return (
      url(at: index),
      ResourceContent(
        md5: row.md5, sha256: row.sha256, size: row.size, ctype: form.ctype, headers: form.headers,
        fallbacks: form.fallbacks, isLazy: form.isLazy)
    )
  }

  /// The URL at an index.
  package func url(at index: Int) -> ResourceURL {
    ResourceURL(serialised: String(decoding: text[range(index)], as: UTF8.self))
  }

  /// The SHA-256 of the bytes at an index.
  package func sha256(at index: Int) -> SHA256 { rows[index].sha256 }

  /// Whether updates leave out the file at an index.
  package func isLazy(at index: Int) -> Bool { forms[Int(rows[index].form)].isLazy }

  /// Whether any entry is lazy.
  package var hasLazy: Bool { forms.contains(where: \.isLazy) }

  /// The index of a URL in a table that is sorted by URL; nil if it isn't there.
  package func index(of url: ResourceURL) -> Int? {
    let wanted = url.text.utf8
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if text[range(middle)].lexicographicallyPrecedes(wanted) { low = middle + 1 } else { high = middle }
    }
    return low < count && text[range(low)].elementsEqual(wanted) ? low : nil
  }

  private func range(_ index: Int) -> Range<Int> {
    (index == 0 ? 0 : Int(rows[index - 1].end))..<Int(rows[index].end)
  }
}
