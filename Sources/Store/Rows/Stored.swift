import Manifests

/// Values as rows hold them. They were checked when they were written: one that can't be read again means that
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

  /// Hosts separated by spaces; nil: all.
  static func hosts(_ text: String?) throws(StoreError) -> HostList? {
    guard let text else { return nil }
    return try read(text) { (text) throws(HostListError) in
      try HostList(text.split(separator: " ").map(String.init))
    }
  }

  /// What `hosts` reads.
  static func text(of hosts: HostList?) -> String? { hosts?.names.joined(separator: " ") }

  static func contentType(_ text: String) throws(StoreError) -> ContentType {
    guard let type = ContentType(text) else { throw .corruptRow(text) }
    return type
  }

  /// The content type of a column: one that many rows share is read, and in memory, once.
  static func contentType(_ row: Statement, _ column: Int32) throws(StoreError) -> ContentType {
    let text = row.sharedText(column)
    if let known = row.types[text] { return known }
    let type = try contentType(text)
    row.keep(type, of: text)
    return type
  }

  /// The headers of a column, in the same way.
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

// A text that many rows share has a row of its own, which is made when the first of them comes.
extension Database {
  /// The row of a public URL, made where there is none.
  func publicURLID(_ text: String) throws(StoreError) -> Int64 {
    if let id = try value(Int64.self, "SELECT id FROM public_url WHERE text = ?", text) { return id }
    try run("INSERT INTO public_url (text) VALUES (?)", text)
    return lastRowID
  }
}
