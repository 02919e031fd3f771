import Foundation

/// `xcache-webkit`: visits pages in WebKitGTK for the `xcache` program, which writes a line of JSON for each page and reads
/// one back.
@main
enum Main {
  // An ordinary function, since closures written here would be isolated to the main actor.
  static func main() { start() }
}

private let usage = """
  usage: xcache-webkit [--display :N]

  The engine of `xcache preview` and `xcache smoke`, which start it. It reads settings and then pages, a line of JSON each, and
  writes what it saw of each page, a line of JSON each. It ends with its input. Xvfb has to be installed, unless a display is
  given.

  """

private func start() {
  var display: String?
  var words = CommandLine.arguments.dropFirst()
  while let word = words.popFirst() {
    switch word {
    case "--display" where !words.isEmpty: display = words.popFirst()
    case "--help", "-h":
      print(usage, terminator: "")
      exit(0)
    default:
      FileHandle.standardError.write(Data("xcache-webkit: \(word) isn't an option.\n\n\(usage)".utf8))
      exit(2)
    }
  }
  let session: Session
  do {
    session = try Session()
  } catch {
    FileHandle.standardError.write(Data("xcache-webkit: \(error)\n".utf8))
    exit(1)
  }
  session.run(display: display)
}
