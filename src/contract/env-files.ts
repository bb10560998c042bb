/**
 * Files that hold settings, and often secrets, of one machine: `.env`, `.env.production`, `.envrc`. Case does not count, as
 * on many machines it does not. Examples are made to be passed on.
 */
const ENV_FILE = /^\.env(?:rc)?(?:[.~_-].*)?$/is
const EXAMPLE = /\.(?:example|sample|template|defaults)$/i
const LOCAL = /\.local$/i

/** `name` is the last step of a path. */
export const isEnvFile = (name: string): boolean => ENV_FILE.test(name) && !EXAMPLE.test(name)

/** By the custom of every framework for this machine alone, and in no repository: `.env.local`, `.env.production.local`. */
export const isLocalEnvFile = (name: string): boolean => isEnvFile(name) && LOCAL.test(name)
