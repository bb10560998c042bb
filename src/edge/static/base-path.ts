/** The base path of a build, as configured, in the form that the manifest has. */
import { posix } from 'node:path'

/** The path of a request is never longer. */
export const MAX_BASE_PATH_LENGTH = 8 * 1024

/** Decoded, because it is compared with decoded paths; normalized, because a path that begins with `//` names a host. */
export const readBasePath = (written: string): string => posix.normalize(`/${decoded(written)}/`).slice(0, -1)

function decoded(written: string): string {
  try {
    return decodeURIComponent(written)
  } catch {
    return written
  }
}
