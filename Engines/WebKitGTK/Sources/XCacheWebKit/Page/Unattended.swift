import CWebKitGTK

/// Answers a page's questions when there is no user: otherwise the page, and each later load of its view, would wait
/// forever.
@WebActor
enum Unattended {
  /// Called with what was answered: `dialog` or `refused`, and a description.
  typealias Note = @WebActor (_ level: String, _ text: String) -> Void

  /// Answers dialogs, printing and file choosers. Authentication requests continue without a password, so the server's
  /// response becomes the page.
  static func answer(_ view: UnsafeMutablePointer<WebKitWebView>) {
    let nobody: Note = { _, _ in }
    answerDialogs(of: view, nobody)
    refuse("print", "printing", of: view, nobody) { _ in }
    refuse("run-file-chooser", "a file", of: view, nobody) {
      xcache_cancel_file_chooser(UnsafeMutableRawPointer($0))
    }
    refuse("authenticate", "a user name and password", of: view, nobody) {
      xcache_authenticate_without(UnsafeMutableRawPointer($0))
    }
  }

  /// Declines confirmations and answers prompts with nothing; a page that asks whether it may be left is left.
  static func answerDialogs(of view: UnsafeMutablePointer<WebKitWebView>, _ note: @escaping Note) {
    connect(
      view, "script-dialog", Box(note),
      { _, dialog, data in
        guard let dialog else { return 0 }
        let note = Box<Note>.borrow(data)
        let text = webkit_script_dialog_get_message(dialog).map { String(cString: $0) } ?? ""
        let kind = webkit_script_dialog_get_dialog_type(dialog)
        if kind == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM || kind == WEBKIT_SCRIPT_DIALOG_CONFIRM {
          webkit_script_dialog_confirm_set_confirmed(
            dialog, kind == WEBKIT_SCRIPT_DIALOG_BEFORE_UNLOAD_CONFIRM ? 1 : 0)
        }
        let name =
          switch kind {
          case WEBKIT_SCRIPT_DIALOG_ALERT: "alert"
          case WEBKIT_SCRIPT_DIALOG_CONFIRM: "confirm"
          case WEBKIT_SCRIPT_DIALOG_PROMPT: "prompt"
          default: "beforeunload"
          }
        WebActor.assumeIsolated { note?("dialog", "\(name): \(text)") }
        return 1
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> gboolean)
  }

  /// Refuses the request of a signal.
  static func refuse(
    _ signal: String, _ what: String, of view: UnsafeMutablePointer<WebKitWebView>, _ note: @escaping Note,
    by deny: @escaping (OpaquePointer) -> Void
  ) {
    connect(
      view, signal, Box(Refusal(what: what, note: note, deny: deny)),
      { _, request, data in
        nonisolated(unsafe) let held = Box<Refusal>.borrow(data)
        if let request { held?.deny(request) }
        WebActor.assumeIsolated { if let held { held.note("refused", held.what) } }
        return 1
      } as @convention(c) (gpointer?, OpaquePointer?, gpointer?) -> gboolean)
  }
}

/// How a request that waits for a user is refused, and how to describe it.
private struct Refusal {
  let what: String
  let note: Unattended.Note
  let deny: (OpaquePointer) -> Void
}
