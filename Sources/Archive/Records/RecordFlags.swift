/// The general purpose bits of an entry (APPNOTE.TXT 4.4.4).
struct RecordFlags: OptionSet, Hashable, Sendable {
  let rawValue: UInt16

  static let encrypted = RecordFlags(rawValue: 1 << 0)
  /// Checksum and sizes follow the data in a descriptor.
  static let hasDescriptor = RecordFlags(rawValue: 1 << 3)
  /// The data is a patch on another file.
  static let patch = RecordFlags(rawValue: 1 << 5)
  static let stronglyEncrypted = RecordFlags(rawValue: 1 << 6)
  static let utf8 = RecordFlags(rawValue: 1 << 11)
  /// Header values are hidden because the directory is encrypted.
  static let masked = RecordFlags(rawValue: 1 << 13)

  var isEncrypted: Bool { !isDisjoint(with: [.encrypted, .stronglyEncrypted, .masked]) }
}
