/**
 * Which names are sent. The same rules as in the command line and the service, which the portal cannot import: tests
 * compare them.
 */

/** Never sent, at any depth: what a build creates itself, the git history, and files of file managers. */
const NEVER = new Set(['node_modules', '.git', '.DS_Store', 'Thumbs.db'])
/** The file that says where a project is deployed is not part of the project. */
const PROJECT_FILE = '.headland.json'

export const isNeverSent = (path: string): boolean => NEVER.has(nameOf(path)) || path === PROJECT_FILE

/** Local settings, which often contain secrets: sent only if the user chooses so. */
const LOCAL_SETTINGS = /^\.env(?:\..*)?$/i
/** Templates, which are made to be shared. */
const SHARED_SETTINGS = new Set(['.env.example', '.env.sample', '.env.template', '.env.defaults'])

export const isLocalSetting = (path: string): boolean =>
  LOCAL_SETTINGS.test(nameOf(path)) && !SHARED_SETTINGS.has(nameOf(path))

/** The limits of the service. */
const MAX_SEGMENT_BYTES = 255
const MAX_PATH_BYTES = 1024
export const MAX_DEPTH = 128

/** The error of one name in a folder, in a few words. */
export function faultOfName(name: string): string | undefined {
  if (name === '') return 'an empty name'
  if (name === '.' || name === '..') return `the name ${name}`
  if (/\p{Cc}/u.test(name)) return 'a control character in the name'
  if (name.includes('/') || name.includes('\\')) return 'a slash in the name'
  if (/\p{Cs}|\uFFFD/u.test(name)) return 'a name that is not UTF-8'
  if (bytesOf(name) > MAX_SEGMENT_BYTES) return `a name of more than ${MAX_SEGMENT_BYTES} bytes`
  return undefined
}

/** The error of a path whose names are all valid, in a few words. */
export function faultOfPath(path: string): string | undefined {
  if (/^[a-z]:/i.test(path)) return 'a name that looks like a drive letter'
  if (path.split('/').length > MAX_DEPTH)
    return `more than ${MAX_DEPTH} folders deep: a link may lead back to a folder above it`
  if (bytesOf(path) > MAX_PATH_BYTES) return `a path of more than ${MAX_PATH_BYTES} bytes`
  return undefined
}

/** Two names are the same on some file systems if and only if they fold to the same string. */
export const fold = (name: string): string => name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

/**
 * A name for display: invisible characters and direction marks are replaced, and the middle of a long name is omitted.
 */
export function shown(path: string): string {
  const text = path.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN / 2)}…${text.slice(-MAX_SHOWN / 2)}`
}
const MAX_SHOWN = 80

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const encoder = new TextEncoder()
/** Fast path for short names: a UTF-16 unit takes at most three bytes. */
const bytesOf = (text: string): number =>
  3 * text.length <= MAX_SEGMENT_BYTES ? text.length : encoder.encode(text).length
