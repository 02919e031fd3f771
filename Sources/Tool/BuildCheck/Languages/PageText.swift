/// Facts about a page from its text.
package enum PageText {
  /// Whether it has a doctype, html, head or body; without one, it is a part of another page.
  package static func isDocument(_ bytes: [UInt8]) -> Bool { PageScanner.content(bytes).isDocument }
}
