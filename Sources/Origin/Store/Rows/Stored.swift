import Manifests
import Values

/// Parsers of values in rows. Values were validated when they were written, so one that can't be parsed means that
/// something else wrote to the database.
enum Stored {
  static func app(_ text: String) throws(StoreError) -> AppName {
    try read(text) { (text) throws(NameError) in try AppName(text) }
  }

  static func channel(_ text: String) throws(StoreError) -> ChannelName {
    try read(text) { (text) throws(NameError) in try ChannelName(text) }
  }

  static func bundle(_ text: String) throws(StoreError) -> BundleName {
    try read(text) { (text) throws(NameError) in try BundleName(text) }
  }

  static func url(_ text: String) throws(StoreError) -> ResourceURL {
    try read(text) { (text) throws(ResourceURLError) in try ResourceURL(text) }
  }

  static func base(_ text: String) throws(StoreError) -> BaseURL {
    try read(text) { (text) throws(ResourceURLError) in try BaseURL(text) }
  }

  /// Parses hosts that are separated by spaces; nil means all.
  static func hosts(_ text: String?) throws(StoreError) -> HostList? {
    guard let text else { return nil }
    return try read(text) { (text) throws(HostListError) in
      try HostList(text.split(separator: " ").map(String.init))
    }
  }

  /// The text that `hosts` parses.
  static func text(of hosts: HostList?) -> String? { hosts?.names.joined(separator: " ") }

  static func contentType(_ text: String) throws(StoreError) -> ContentType {
    guard let type = ContentType(text) else { throw .corruptRow(text) }
    return type
  }

  /// The content type in a column. One that many rows share is parsed, and held in memory, once.
  static func contentType(_ row: Statement, _ column: Int32) throws(StoreError) -> ContentType {
    let text = row.sharedText(column)
    if let known = row.types[text] { return known }
    let type = try contentType(text)
    row.keep(type, of: text)
    return type
  }

  /// The headers in a column, parsed once in the same way.
  static func headers(_ row: Statement, _ column: Int32) throws(StoreError) -> EntryHeaders {
    let text = row.sharedText(column)
    if text == "{}" { return EntryHeaders() }
    if let known = row.headers[text] { return known }
    guard let headers = try? EntryHeaders(json: JSONValue.parse(Array(text.utf8))) else {
      throw .corruptRow(text)
    }
    row.keep(headers, of: text)
    return headers
  }

  /// The fallbacks in a column; mostly there are none.
  static func fallbacks(_ row: Statement, _ column: Int32) throws(StoreError) -> PageFallbacks {
    let text = row.sharedText(column)
    if text == "[]" { return PageFallbacks() }
    guard let fallbacks = try? PageFallbacks(json: JSONValue.parse(Array(text.utf8))) else {
      throw .corruptRow(text)
    }
    return fallbacks
  }

  private static func read<Value, Failure: Error>(
    _ text: String, _ parse: (String) throws(Failure) -> Value
  ) throws(StoreError) -> Value {
    do {
      return try parse(text)
    } catch {
      throw .corruptRow(text)
    }
  }
}

// A text that many rows share has a row of its own, inserted when it is first needed.
extension Database {
  /// The id of a public URL, inserted if there is none.
  func publicURLID(_ text: String) throws(StoreError) -> Int64 {
    if let id = try value(Int64.self, "SELECT id FROM public_url WHERE text = ?", text) { return id }
    try run("INSERT INTO public_url (text) VALUES (?)", text)
    return lastRowID
  }
}
