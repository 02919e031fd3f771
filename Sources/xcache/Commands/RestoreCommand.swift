/// `xcache restore`: a data folder made anew.
enum RestoreCommand {
  static let command = Command(
    name: "restore", operands: "", summary: "make a data folder of a backup", notes: BackupRestore.notes,
    options: BackupRestore.options, run: BackupRestore.run)
}
