export namespace xcache {
    const ready: Promise<ServiceWorkerRegistration | undefined>;
    /**
     * Calls `listener` on each event of a name.
     * @param {EventName} name
     * @param {(detail: any) => void} listener
     * @returns {() => void} ends it
     */
    function on(name: EventName, listener: (detail: any) => void): () => void;
    /**
     * Calls `listener` on each event of a name.
     * @param {EventName} name
     * @param {(detail: any) => void} listener
     * @returns {() => void} ends it
     */
    function on(name: EventName, listener: (detail: any) => void): () => void;
    function state(): Promise<State | undefined>;
    function update(wish?: {
        force?: boolean | undefined;
        metered?: boolean | undefined;
    } | undefined): Promise<UpdateReport | undefined>;
    function describe(user: {
        appVersion?: string | null | undefined;
        groups?: string[] | undefined;
    }): Promise<boolean>;
    function leaveCandidate(): Promise<boolean>;
    function confirm(): Promise<boolean>;
    function reject(reason?: string | undefined): Promise<boolean>;
    /**
     * Opens every tab of this app anew: each at once, or when nobody looks at it. A waiting worker takes over before.
     * @param {"hidden" | "now"} [when]
     */
    function reload(when?: "hidden" | "now" | undefined): Promise<void>;
    /**
     * Opens every tab of this app anew: each at once, or when nobody looks at it. A waiting worker takes over before.
     * @param {"hidden" | "now"} [when]
     */
    function reload(when?: "hidden" | "now" | undefined): Promise<void>;
    function persist(): Promise<boolean>;
    function estimate(): Promise<StorageEstimate>;
    /**
     * Empties the store and unregisters the worker.
     * @returns {Promise<void>}
     */
    function remove(): Promise<void>;
    /**
     * Empties the store and unregisters the worker.
     * @returns {Promise<void>}
     */
    function remove(): Promise<void>;
}
/**
 * What `xcache web init` writes in front of this script: the worker's address, from the script's own, and its scope.
 */
export type PageSettings = {
    worker?: string;
    scope?: string;
};
/**
 * What an update came to; `kind` is `early`, `nothing`, `patch`, `pack`, `whole`, `removed` (by the kill switch), `returned` (the
 * version before is back, as this one failed) or `failed`.
 */
export type UpdateReport = {
    kind: string;
    source?: "origin" | "mirror";
    from: string;
    to: string;
    fetched: number;
    copied: number;
    deltas: number;
    bytes: number;
    why?: string;
};
/**
 * What the worker holds, and how often it answered; `page`: the version that this page was opened from; `from`: who gave its document, and
 * `why` that was, or had to be, the network: the kill switch (`killed`), the policy (`bypassed`), it isn't in the manifest (`unlisted`), it
 * didn't come up twice in a row (`failed`), polls have failed for long (`stale`), its file isn't held (`missing`), the worker took too long
 * (`late`), it opened before the worker (`first-visit`), it is outside of the worker's scope (`outside`); `candidate`: whether a rollout
 * is open, and the version is the one that goes to a part of the users first; `previous`: the version before, as long as there is a way back to it;
 * `skipped`: a version that failed here, and isn't taken again; `lazy`: files that come when something asks for them, and haven't come.
 */
export type State = {
    version: string;
    digest: string;
    page?: string;
    from: "device" | "network";
    why?: "killed" | "bypassed" | "unlisted" | "failed" | "stale" | "missing" | "late" | "first-visit" | "outside";
    candidate: boolean;
    previous?: string;
    skipped?: string;
    source: "origin" | "mirror";
    failures: number;
    listed: number;
    held: number;
    lazy: number;
    backlog: number;
    aside: number;
    policy: number;
    prefetch: number;
    counts: {
        local: number;
        passed: number;
        failed: number;
        late: number;
        bytes: number;
        prefetched: number;
    };
};
/**
 * `updated`: a new version is ready for pages that open from now on; `worker`: a new worker waits; `removed`: the worker is gone.
 */
export type EventName = "updated" | "worker" | "removed";
declare const scope: string;
export {};
