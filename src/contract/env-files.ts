/**
 * Files with settings, and often secrets, of one machine: `.env`, `.env.production`, `.envrc`. Case is ignored, because
 * many file systems ignore it. Example files are meant to be shared, and are not among them.
 */
const ENV_FILE = /^\.env(?:rc)?(?:[.~_-].*)?$/is
const EXAMPLE = /\.(?:example|sample|template|defaults)$/i
const LOCAL = /\.local$/i

/** `name` is the last segment of a path. */
export const isEnvFile = (name: string): boolean => ENV_FILE.test(name) && !EXAMPLE.test(name)

/** Files that every framework keeps on one machine and out of repositories: `.env.local`, `.env.production.local`. */
export const isLocalEnvFile = (name: string): boolean => isEnvFile(name) && LOCAL.test(name)
