/** What the edge bounds, in one place. Tests make one smaller to reach it. */

export const LIMITS = {
  /** Requests that one instance works on at a time; each has a connection of its own. */
  requestsPerInstance: 256,
  /** Requests that wait for one of those places. Beyond them the answer is 503. */
  waitingPerInstance: 1024,
  /** Event streams and upgraded connections of one instance: idle nearly always, so they take none of the places above. */
  streamsPerInstance: 4096,
  /** Those of all environments together: each takes a connection of a client, and half of them stay free. */
  streams: 10_000,
  /** So many of an environment in any case, however many others have. */
  streamsReserved: 100,
  /** How long an instance may take until its response begins. While a request body moves, the time starts anew. */
  responseStartMs: 60_000,
  /** Of one environment's responses, so much is read in a turn: 200 MB a second leave most of the edge to the others. */
  environmentBytesPerTurn: 2 * 1024 * 1024,
  turnMs: 10,
  /** How long an unused connection to an instance is kept. */
  idleUpstreamMs: 30_000,
  /** Requests that wait for a sleeping deployment, of all environments together. */
  held: 4000,
  pendingPerEnvironment: 500,
  /** So many of an environment wait in any case, however many wait for others. */
  pendingReserved: 50,
  pendingPerClient: 200,
  /** Of those that were sent behind each other without waiting for an answer, which browsers do not do. */
  pendingPerConnection: 8,
  pendingMs: 75_000,
  /** How long a client may neither send what it announced nor read what it asked for. */
  stalledClientMs: 60_000,
  requestHeaderBytes: 32 * 1024,
  /** Headers of a request: frameworks send about twenty. Beyond them the answer is 431. */
  requestHeaders: 100,
  /** Path and query. Beyond them the answer is 414. */
  requestTargetBytes: 8 * 1024,
  /** How long a client may take for the head of a request, from its first byte or from the connection's beginning. */
  requestHeadMs: 20_000,
  /** How long a connection is kept between two requests. Clients are told. */
  idleClientMs: 65_000,
  /** How long a connection that does nothing is kept when three quarters of all connections are taken. */
  crowdedMs: 5000,
  /** How often it is looked for connections that are past those times. */
  clientSweepMs: 1000,
  /** Connections of clients. Each takes about 12 KB of memory and a file descriptor. */
  connections: 20_000,
  /**
   * Connections of one client address. Many visitors share one behind a carrier's NAT, with six connections each; one
   * address that takes all it can get still leaves nineteen of twenty to the others.
   */
  connectionsPerClient: 1000,
  responseHeaderBytes: 64 * 1024,
  /** A body up to this length, where it is known, is waited for and sent in one piece. */
  pieceBytes: 64 * 1024,
  /** A body up to this length is held in memory to be stored; a longer one goes to the disk as it comes. */
  bufferedBytes: 1024 * 1024,
  /** Of bodies that are on their way and will be stored. Beyond it they go to the disk as they come, or are not stored. */
  collectingBytes: 128 * 1024 * 1024,
  collectingBytesPerEnvironment: 32 * 1024 * 1024,
  /** How long a body that is to be stored may take when its last reader has left. */
  unwatchedMs: 30_000,
  /** Stale objects that are refreshed at a time behind their readers' backs. */
  refreshes: 64,
  refreshesPerEnvironment: 16,
  /** So many of an environment in any case, however many others are refreshed. */
  refreshesReserved: 2,
  /** Addresses that are remembered for having nothing to store. The environment that holds most gives way to others. */
  hitForPassBytes: 8 * 1024 * 1024,
  /** Small files of static deployments that are held in memory. The environment that holds most gives way to others. */
  readyFileBytes: 64 * 1024 * 1024,
  /** Addresses of static deployments that were looked up of late, by the same rule. */
  manifestBytes: 16 * 1024 * 1024,
  /** Manifests that are kept open. One that is not costs its next visitor four reads more. */
  openManifests: 256,
}

export type Limits = typeof LIMITS
