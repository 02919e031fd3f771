import Values

extension PreviewError {
  /// What is wrong, where, and what to do, in one or two sentences without a final full stop.
  package var message: String {
    let program = EngineProgram.name
    return switch self {
    case .notAnAddress(let text, let place):
      "\(place) \(text) is not an address of a page, such as https://m.example.com/index.html"
    case .badFragment(let text, let place):
      "\(place) \(text): its fragment is too long, or has spaces or line breaks in it"
    case .noPages: "the build has no page: no file of type text/html that is a document"
    case .notInBuild(let word):
      "\(word) isn't a page of the build; name one by its path in the folder, such as index.html, or by its URL. For a "
        + "route that a fallback answers, give --bundle NAME, too: xcache.json has the fallbacks"
    case .badEntry(let server, let url): "\(server): its manifest has no valid entry for \(url)"
    case .badFixture(let problem, let path, let url):
      "\(path)\(url.map { ": \($0)" } ?? "") should be \(problem.wanted)"
    case .noFixture(let path): "no such file: \(path)"
    case .fixtureIsFolder(let path): "\(path) is a folder, not a file"
    case .noEngine(let variable?):
      "\(EngineProgram.variable) is \(variable), which is not a program; set it to the path of \(program), or unset it to search for it"
    case .noEngine(nil):
      "\(program), the program that opens pages in WebKitGTK, isn't installed: install the package "
        + "xcache-webkit (`make deb-webkit` in xcache's source), or build it with `make webkit` and put it beside xcache or in a "
        + "folder of PATH, or set \(EngineProgram.variable) to its path"
    case .notStarted(let path, let error): "\(path) can't be started: \(error.reason)"
    case .endedEarly(let end, let words): "\(program) exited before it was ready: \(end)\(words.text)"
    case .badAnswer(.refused(let why), let words): "\(program): \(words.explaining(why))"
    case .badAnswer(let fault, let words): fault.message + words.text
    case .noReport(let url): "\(program) didn't answer about \(url)"
    case .notAPicture: "\(program) wrote a picture that isn't a PNG file"
    }
  }

  /// The exit code: 2 if what was asked for makes no sense, else 1.
  package var exitCode: Int32 {
    switch self {
    case .notAnAddress, .badFragment, .badFixture: 2
    default: 1
    }
  }

  /// The error's name for programs.
  package var name: String {
    switch self {
    case .notAnAddress, .badFragment: "usage"
    case .noPages, .notInBuild, .noFixture, .fixtureIsFolder: "no-files"
    case .badEntry: "not-an-origin"
    case .badFixture: "settings"
    case .noEngine: "no-engine"
    case .notStarted, .endedEarly, .badAnswer, .noReport, .notAPicture: "engine"
    }
  }
}

extension PreviewError.FixtureProblem {
  /// What is expected, for messages.
  package var wanted: String {
    switch self {
    case .notAnObject: "an object: {…}"
    case .notAURL: "an absolute http or https URL"
    case .notAnAnswer: "{\"ctype\": a media type, \"file\": the name of a file beside fixtures.json}"
    }
  }
}

extension EngineTalk.Fault {
  /// What the program did wrong.
  var message: String {
    let name = EngineProgram.name
    return switch self {
    case .refused(let why): "\(name): \(why)"
    case .notJSON(let text):
      "\(name) wrote something that isn't an answer: \(text.onOneLine); does it belong to this xcache?"
    case .unreadable(let member):
      "an answer of \(name) has no valid \"\(member)\"; build it from the same source as xcache: make webkit"
    case .unasked(let what): "\(name) sent an answer that nobody asked for: \(what)"
    case .notReady(let seconds): "\(name) wasn't ready within \(seconds) s"
    case .overdue(_, let url, let seconds):
      "\(name) didn't answer about \(url) within \(seconds) s and was stopped"
    }
  }
}
