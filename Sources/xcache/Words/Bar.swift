/// A progress line: what is done, a bar, how much of it.
enum Bar {
  private static let width = 24

  static func line(_ what: String, _ done: Int64, of all: Int64, _ words: String) -> String {
    // What an origin tells may be no share.
    let share = all > 0 ? Double(min(max(done, 0), all)) / Double(all) : 1
    let filled = Int((share * Double(width)).rounded(.down))
    return
      "\(what) [\(String(repeating: "#", count: filled))\(String(repeating: "·", count: width - filled))] \(words)"
  }
}
