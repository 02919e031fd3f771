/// Why an app thinks that it's time to look for an update. While the app isn't in the foreground, `launch` and `push` alone
/// lead to one.
public enum Trigger: Hashable, Sendable {
  /// The app was started.
  case launch
  /// A page is opening; the update waits until the page has its first answer, one second at most.
  case pageOpened(OpenPage)
  case pageClosed
  /// The app came back to the foreground.
  case foreground
  /// The app's own signal, such as a push message.
  case push
}
