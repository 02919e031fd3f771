/// A reason to look for an update. While the app is in the background, only `launch` and `push` lead to one.
public enum Trigger: Hashable, Sendable {
  /// The app started.
  case launch
  /// A page is opening; the update waits for the page's first answer, at most one second.
  case pageOpened(OpenPage)
  case pageClosed
  /// The app came back to the foreground.
  case foreground
  /// A signal of the app's own, such as a push message.
  case push
}
