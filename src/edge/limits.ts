/** What the edge bounds, in one place. Tests make one smaller to reach it. */

export const LIMITS = {
  /** Requests that one instance works on at a time; each has a connection of its own. */
  requestsPerInstance: 256,
  /** Requests that wait for one of those places. Beyond them the answer is 503. */
  waitingPerInstance: 1024,
  /** Event streams and upgraded connections of one instance: idle nearly always, so they take none of the places above. */
  streamsPerInstance: 4096,
  /** How long an instance may take until its response begins. While a request body moves, the time starts anew. */
  responseStartMs: 60_000,
  /** How long an unused connection to an instance is kept. */
  idleUpstreamMs: 30_000,
  /** Requests, over all hosts, that wait for a sleeping deployment. */
  held: 1000,
  heldMs: 75_000,
  /** How long a client may neither send what it announced nor read what it asked for. */
  stalledClientMs: 60_000,
  requestHeaderBytes: 32 * 1024,
  responseHeaderBytes: 64 * 1024,
  /** Files of all manifests that are kept in memory, at about 450 bytes each. */
  manifestFiles: 50_000,
}

export type Limits = typeof LIMITS
