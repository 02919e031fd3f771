/// What a page's text says of the page itself.
package enum PageText {
  /// Whether it has a doctype, html, head or body; what has none is a part of another page.
  package static func isDocument(_ bytes: [UInt8]) -> Bool { PageScanner.content(bytes).isDocument }
}
