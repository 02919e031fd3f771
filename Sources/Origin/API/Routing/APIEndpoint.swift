import HTTP
import Manifests
import OriginAPI
import Store
import System

/// The publishing API: everything below `/api/v1`.
///
/// The event loop only splits the request; who asks, and what is answered, is worked out on the worker pool.
struct APIEndpoint: Sendable {
  let store: Store
  let releases: ReleaseService
  let deltas: DeltaService
  let documents: DocumentService
  let adoption: AdoptionService
  let fleet: FleetService
  /// Bytes.
  let largestUpload: UInt64
  let log: @Sendable (String) -> Void
  /// Who showed wrong tokens of late.
  let attempts = LoginAttempts()
  let running = RunningRequests()
  /// What preparations were given.
  let plans = PlanCache()
  /// What documents may take of the memory at once; the largest that anybody publishes fits several times.
  let bodies = BodyBudget(limit: 64 << 20)

  func answer(_ request: borrowing Request) -> Answer {
    guard let call = APIRequest(request), let route = APIRoute.at(call.path) else {
      return .now(Problem.notFound.response)
    }
    if call.method == .options { return .now(Response(.noContent, HeadFields([("Allow", route.allow)]))) }
    guard let act = route.act(for: call.method) else {
      return .now(Problem.methodNotAllowed(route.allow).response)
    }
    // Here already, so that nobody without a token is asked for a body, nor keeps a worker.
    guard call.token != nil else { return .now(Problem.noToken.response) }
    switch act {
    case .answer(let takes, let handle):
      return .later {
        respond {
          let context = try admit(call, takes)
          guard call.method == .delete else { return call.reader.response(try handle(context)) }
          return try once(context, body: SHA256.of([]), handle)
        }
      }
    case _ where !call.announcesBody:
      return .now(Problem.lengthRequired.response)
    case .document(let takes, _, _) where !call.coding.isKnown,
      .upload(let takes, _) where !call.coding.isKnown:
      return .later {
        respond {
          _ = try admit(call, takes)
          throw Problem.unknownCoding
        }
      }
    case .document(let takes, let limit, let open):
      // The receiver counts what comes without a length: it has words for what is too long.
      return refusal(call, takes, over: UInt64(limit))
        ?? .receive(limit: .max) { DocumentReceiver(call, self, takes, limit: limit, open) }
    case .upload(let takes, let open):
      return refusal(call, takes, over: largestUpload)
        ?? .receive(limit: largestUpload) { UploadReceiver(call, self, takes, open) }
    }
  }

  /// The answer to a body that is too large by its head's word; nil to any other.
  private func refusal(_ call: APIRequest, _ takes: Requirement, over limit: UInt64) -> Answer? {
    guard let length = call.length, UInt64(clamping: length) > limit else { return nil }
    return .later {
      respond {
        _ = try admit(call, takes)
        throw Problem.tooLarge(limit: limit)
      }
    }
  }

  /// Turns what a handler throws into its answer, for all of them; what is our own fault is logged.
  func respond(_ handle: () throws -> Response) -> Response {
    do {
      return try handle()
    } catch {
      let problem = Problem(error)
      if problem.status >= 500 { log("error: \(problem.detail ?? problem.title)") }
      return problem.response
    }
  }
}
