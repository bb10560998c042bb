/**
 * Which names are sent. The same as those of the command line and of the service, which the portal cannot import: tests
 * hold them against each other.
 */

/** Never sent, at any depth: what a build makes itself, the history, and what file managers leave behind. */
const NEVER = new Set(['node_modules', '.git', '.DS_Store', 'Thumbs.db'])
/** Where a project is deployed to is no part of it. */
const PROJECT_FILE = '.headland.json'

export const isNeverSent = (path: string): boolean => NEVER.has(nameOf(path)) || path === PROJECT_FILE

/** Local settings, which hold secrets more often than not: sent only where somebody says so. */
const LOCAL_SETTINGS = /^\.env(?:\..*)?$/i
/** Made to be shared: they say which settings there are. */
const SHARED_SETTINGS = new Set(['.env.example', '.env.sample', '.env.template', '.env.defaults'])

export const isLocalSetting = (path: string): boolean =>
  LOCAL_SETTINGS.test(nameOf(path)) && !SHARED_SETTINGS.has(nameOf(path))

/** The service takes no more. */
const MAX_SEGMENT_BYTES = 255
const MAX_PATH_BYTES = 1024
export const MAX_DEPTH = 128

/** What is wrong with one name in a folder, in a few words. */
export function faultOfName(name: string): string | undefined {
  if (name === '') return 'an empty name'
  if (name === '.' || name === '..') return `the name ${name}`
  if (/\p{Cc}/u.test(name)) return 'a control character in the name'
  if (name.includes('/') || name.includes('\\')) return 'a slash in the name'
  if (/\p{Cs}|\uFFFD/u.test(name)) return 'a name that is not UTF-8'
  if (bytesOf(name) > MAX_SEGMENT_BYTES) return `a name of more than ${MAX_SEGMENT_BYTES} bytes`
  return undefined
}

/** What is wrong with a path whose names are all well, in a few words. */
export function faultOfPath(path: string): string | undefined {
  if (/^[a-z]:/i.test(path)) return 'a name that looks like a drive letter'
  if (path.split('/').length > MAX_DEPTH)
    return `more than ${MAX_DEPTH} folders deep: a link may lead back to a folder above it`
  if (bytesOf(path) > MAX_PATH_BYTES) return `a path of more than ${MAX_PATH_BYTES} bytes`
  return undefined
}

/** Two names are the same to some file system exactly if they fold to the same. */
export const fold = (name: string): string => name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')

/** A name that can be shown: characters that do not show, or turn the direction, are replaced, and the middle left out. */
export function shown(path: string): string {
  const text = path.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN / 2)}…${text.slice(-MAX_SHOWN / 2)}`
}
const MAX_SHOWN = 80

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const encoder = new TextEncoder()
/** Most names are short: three bytes for each unit of UTF-16 is the most that there can be. */
const bytesOf = (text: string): number =>
  3 * text.length <= MAX_SEGMENT_BYTES ? text.length : encoder.encode(text).length
