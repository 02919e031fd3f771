/// Where a frame of a stack is in the source text that a build tool made the script of.
package struct SourcePosition: Codable, Hashable, Sendable {
  /// The source file, as the source map names it: `webpack:///src/cart.ts`, `../src/cart.ts`.
  package let file: String
  /// From 1.
  package let line: Int
  /// From 1, in UTF-16 units, as in stacks.
  package let column: Int
  /// The function that the frame is in, by the name with which the next frame calls it, if the map has that.
  package let function: String?
  /// Up to five lines around the position, each at most 200 bytes, if the map contains its sources.
  package let excerpt: [String]?
  /// The number of the excerpt's first line, from 1.
  package let excerptLine: Int?

  package init(
    file: String, line: Int, column: Int, function: String? = nil, excerpt: [String]? = nil,
    excerptLine: Int? = nil
  ) {
    (self.file, self.line, self.column) = (file, line, column)
    (self.function, self.excerpt, self.excerptLine) = (function, excerpt, excerptLine)
  }
}
