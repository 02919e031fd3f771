/// A prefetch config as somebody wrote it, checked strictly: what is wrong where, and the config if nothing is.
package struct PrefetchCheck: Sendable {
  /// In the order of the document.
  package let remarks: [DocumentRemark]
  /// Nil where there is an error.
  package let config: PrefetchConfig?

  /// Checks a file: the whole document, its `data`, or the `config` array alone.
  package init(_ bytes: [UInt8]) {
    var reader = PrefetchChecker()
    let document = reader.checks.parse(bytes)
    self.init(reader, document)
  }

  /// Checks a document that is read already.
  package init(_ document: JSONValue) { self.init(PrefetchChecker(), document) }

  private init(_ checker: PrefetchChecker, _ document: JSONValue?) {
    var checker = checker
    let config = document.flatMap { checker.config(of: $0) }
    remarks = checker.checks.remarks
    self.config = checker.checks.hasErrors ? nil : config.map { PrefetchConfig(reading: $0) }
  }

  package var errors: [DocumentRemark] { remarks.filter { $0.severity == .error } }
}
