/** A purge: what is removed from the cache. */

/** Everything of the environment; or, with paths or tags, every response that has one of them. */
export type Purge = {
  environment: string
  paths?: readonly string[]
  tags?: readonly string[]
  /** The publish that it belongs to, whose first visit is awaited. */
  publish?: string
}
