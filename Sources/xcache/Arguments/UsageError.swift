/// A command line that can't be followed; exit code 2.
struct UsageError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}
