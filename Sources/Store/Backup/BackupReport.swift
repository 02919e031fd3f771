import Platform

/// What a backup or a restore copied.
package struct BackupReport: Sendable {
  /// Files that were copied, and their bytes.
  package internal(set) var copied = 0
  package internal(set) var copiedBytes: Int64 = 0
  /// Files that were there from an earlier run.
  package internal(set) var kept = 0
  /// Files of an earlier run that nothing names any more.
  package internal(set) var removed = 0
  /// Bytes of the database.
  package internal(set) var databaseBytes: Int64 = 0
  /// Files from an earlier run that were read back, and those of them that were bad and copied anew.
  package internal(set) var verified = 0
  package internal(set) var repaired = 0
  /// Files that were missing or had other bytes at the source, and were left out.
  package internal(set) var damaged: [SHA256] = []
  /// The live URLs that have those bytes: publishing them again brings them back.
  package internal(set) var damagedURLs: [DamagedURL] = []
}
