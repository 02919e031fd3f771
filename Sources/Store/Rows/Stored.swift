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

  static func contentType(_ text: String) throws(StoreError) -> ContentType {
    guard let type = ContentType(text) else { throw .corruptRow(text) }
    return type
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

// Texts that many rows share have a row of their own, which is made when the first of them comes.
extension Database {
  /// The row of a content type, made where there is none.
  func contentTypeID(_ text: String) throws(StoreError) -> Int64 {
    try findOrInsert(
      text, find: "SELECT id FROM content_type WHERE text = ?",
      insert: "INSERT INTO content_type (text) VALUES (?)")
  }

  /// The row of a public URL, made where there is none.
  func publicURLID(_ text: String) throws(StoreError) -> Int64 {
    try findOrInsert(
      text, find: "SELECT id FROM public_url WHERE text = ?",
      insert: "INSERT INTO public_url (text) VALUES (?)")
  }

  private func findOrInsert(_ text: String, find: StaticString, insert: StaticString) throws(StoreError)
    -> Int64
  {
    if let id = try value(Int64.self, find, text) { return id }
    try run(insert, text)
    return lastRowID
  }
}
