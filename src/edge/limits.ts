/** All limits of the edge. Tests lower some to reach them. */

export const LIMITS = {
  /** Concurrent requests to one instance; each has a connection of its own. */
  requestsPerInstance: 256,
  /** Requests that wait for one of those places. Beyond them the response is 503. */
  waitingPerInstance: 1024,
  /** Event streams and upgraded connections of one instance: mostly idle, so they take none of the places above. */
  streamsPerInstance: 4096,
  /** Those of all environments together: each uses a client connection, and half of those stay free. */
  streams: 10_000,
  /** Every environment may have so many, however many others have. */
  streamsReserved: 100,
  /**
   * Requests of an app to its own site that are in progress at a time, for each request of another client that is, and one
   * more. Further ones wait.
   */
  ownRequestsPerVisit: 32,
  /**
   * Those of one environment, however many visits there are; and as many of other apps and of builds to it. Fewer than the
   * connections that an app may have to the edge.
   */
  appRequests: 200,
  appRequestsWaiting: 1000,
  /** When none of those in progress has ended for so long, those that wait are refused as a loop. */
  appRequestsStalledMs: 10_000,
  /** How often a request may pass an edge of Headland, by the header CDN-Loop (RFC 8586). */
  hops: 10,
  /** How long an instance may take until its response begins. Each chunk of the request body restarts the time. */
  responseStartMs: 60_000,
  /**
   * Bytes of one environment's responses that are read per turn: 200 MB a second leave most of the edge to the others.
   */
  environmentBytesPerTurn: 2 * 1024 * 1024,
  turnMs: 10,
  /** How long an unused connection to an instance is kept. */
  idleUpstreamMs: 30_000,
  /** Requests that wait for a sleeping deployment, of all environments together. */
  pending: 4000,
  pendingPerEnvironment: 500,
  /** Of every environment so many may wait, however many wait for others. */
  pendingReserved: 50,
  pendingPerClient: 200,
  /** Of pipelined requests, which browsers do not send. */
  pendingPerConnection: 8,
  pendingMs: 75_000,
  /** How long a client may neither send the rest of its request nor read its response. */
  stalledClientMs: 60_000,
  requestHeaderBytes: 32 * 1024,
  /** Headers of a request: frameworks send about twenty. Beyond them the response is 431. */
  requestHeaders: 100,
  /** Path and query. Beyond them the response is 414. */
  requestTargetBytes: 8 * 1024,
  /** How long a client may take for the head of a request, from its first byte or from the connection's beginning. */
  requestHeadMs: 20_000,
  /** How long a connection is kept between two requests. It is announced in Keep-Alive. */
  idleClientMs: 65_000,
  /** How long an idle connection is kept when three quarters of all connections are taken. */
  crowdedMs: 5000,
  /** How often connections are checked against those times. */
  clientSweepMs: 1000,
  /** Client connections. Each takes about 12 KB of memory and a file descriptor. */
  connections: 20_000,
  /**
   * Connections of one client address. Many visitors share one behind a carrier's NAT, with six connections each; an
   * address that takes as many as possible still leaves nineteen of twenty to the others.
   */
  connectionsPerClient: 1000,
  /** Streams of HTTP/2 on one connection at a time. */
  streamsPerConnection: 128,
  /** Bytes of a request body in HTTP/2 that a client may send before they are read. */
  streamWindowBytes: 256 * 1024,
  /** Memory of one connection of HTTP/2: header tables, and frames that wait. */
  sessionBytes: 10_000_000,
  /** Streams that a client may open and reset at once; after them, a thirtieth of it each second. */
  streamResets: 1000,
  responseHeaderBytes: 64 * 1024,
  /** A body up to this length, where it is known, is sent in one piece once it is complete. */
  pieceBytes: 64 * 1024,
  /** A body up to this length is buffered in memory to be stored; a longer one is written to the disk as it arrives. */
  bufferedBytes: 1024 * 1024,
  /**
   * Of bodies that are arriving and will be stored. Beyond it they are written to the disk as they arrive, or not
   * stored.
   */
  collectingBytes: 128 * 1024 * 1024,
  collectingBytesPerEnvironment: 32 * 1024 * 1024,
  /** How long a body that will be stored may take after the last client has left. */
  unwatchedMs: 30_000,
  /** Stale objects that are refreshed in the background at a time. */
  refreshes: 64,
  refreshesPerEnvironment: 16,
  /** Of every environment so many may be refreshed, however many others are. */
  refreshesReserved: 2,
  /** URLs that are remembered as hit-for-pass. When it is full, the environment that uses most loses entries. */
  hitForPassBytes: 8 * 1024 * 1024,
  /** Small files of static deployments in memory, by the same rule. */
  readyFileBytes: 64 * 1024 * 1024,
  /** Addresses of static deployments that were looked up recently, by the same rule. */
  manifestBytes: 16 * 1024 * 1024,
  /** Manifests that are kept open. For a closed one, the next request needs four more reads. */
  openManifests: 256,
  /** Rules of those sites, as they are stored: in memory they take about three times as much. */
  ruleBytes: 32 * 1024 * 1024,
  /** Requests that rewrites of static sites send to other hosts, at a time. */
  rewrites: 2000,
  rewritesPerEnvironment: 200,
  /** Of every environment so many may be sent, however many others are. */
  rewritesReserved: 10,
  /** How long another host may send nothing after its response has begun. */
  rewriteIdleMs: 120_000,
  /** Wrong passwords for protected environments, of one client's network: at once, and then one in six seconds. */
  unlockTriesOfClient: { atOnce: 10, perSecond: 1 / 6 },
  /** Those for one environment, of all clients together. */
  unlockTriesOfEnvironment: { atOnce: 100, perSecond: 1 },
  /** Passwords that wait to be compared: one at a time is. */
  unlocksWaiting: 32,
  unlocksWaitingPerEnvironment: 8,
  /** How long a client is told to wait when those places are taken. */
  unlockRetrySeconds: 5,
  /** A longer password is wrong: the API takes none. */
  unlockPasswordLength: 256,
  /** The body of the form: a password and a path, with every character escaped. */
  unlockBodyBytes: 16 * 1024,
  unlockBodyMs: 15_000,
  /** A longer address is not returned to: the visitor gets to the start page. */
  unlockReturnLength: 2048,
  /** Environments whose right password is remembered, so that programs need not wait for a comparison. */
  rememberedPasswords: 10_000,
}

export type Limits = typeof LIMITS
