/** What is to go from the cache. */

/** Everything of the environment, unless paths or tags are given: then what has one of either. */
export type Purge = { environment: string; paths?: readonly string[]; tags?: readonly string[] }
