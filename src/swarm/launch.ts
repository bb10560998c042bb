/**
 * The first process of an app: it fills the folders that the app may write with what the image has for them, reads the variables
 * of the app, and becomes the app. Variables are secrets of the swarm, so they stand in no specification. It is the shell of
 * the image, which every version of Node has beside it.
 */
import { LIMITS } from '../contract/index.ts'

/** Its arguments are the file of variables, the folders, `--`, and the app's program with its arguments. */
export const LAUNCH = `
while [ "$1" != -- ]; do
  if [ -d "/headland/initial\${1#/app}" ]; then cp -R "/headland/initial\${1#/app}/." "$1/" || exit; fi
  shift
done
shift
. "$0" && exec /usr/bin/env "$@"`

const FOLDER = '/run/secrets'

/** The file of a part; the first one reads the others. */
export const variablesFile = (part: number): string => (part === 0 ? 'headland' : `headland.${part}`)
export const VARIABLES_PATH = `${FOLDER}/${variablesFile(0)}`

/** Docker refuses secrets of more than 500 KB, and the names and quotes of the longest value fit beside it. */
const MAX_PART_BYTES = 400 * 1024
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Shells give these a meaning, and some refuse to assign them: they reach the app as arguments of `env`. */
const OF_SHELLS = new Set([
  ...['_', 'BASHOPTS', 'BASHPID', 'BASH_ARGV0', 'BASH_VERSINFO', 'DIRSTACK', 'EUID', 'FUNCNAME', 'GROUPS', 'HISTCMD'],
  ...['IFS', 'LINENO', 'OLDPWD', 'OPTIND', 'POSIXLY_CORRECT', 'PPID', 'PS4', 'PWD', 'RANDOM', 'SECONDS', 'SHELLOPTS'],
  ...['SRANDOM', 'UID', 'EPOCHSECONDS', 'EPOCHREALTIME'],
])

/** Texts for a shell, in the order of their names. Equal variables are equal texts. */
export function variableParts(variables: Readonly<Record<string, string>>): Buffer[] {
  const parts: string[][] = [[]]
  let bytes = 0
  for (const [name, value] of Object.entries(variables).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    check(name, value)
    const line = OF_SHELLS.has(name) ? `set -- ${quoted(`${name}=${value}`)} "$@"` : `export ${name}=${quoted(value)}`
    const length = Buffer.byteLength(line) + 1
    if (bytes + length > MAX_PART_BYTES) {
      parts.push([])
      bytes = 0
    }
    parts.at(-1)?.push(line)
    bytes += length
  }
  return parts.map((lines, part) => {
    const next = part + 1 < parts.length ? [`. ${FOLDER}/${variablesFile(part + 1)}`] : []
    // Docker refuses an empty secret, and a text that ends in a failed command would end the start.
    return Buffer.from(`${[...lines, ...next, ':'].join('\n')}\n`)
  })
}

/** Bounded here as well, since each part is a secret that every manager stores. */
function check(name: string, value: string) {
  if (!NAME.test(name) || name.length > LIMITS.variableKeyLength)
    throw new Error(`not the name of a variable: ${JSON.stringify(name).slice(0, 80)}`)
  if (value.includes('\0') || Buffer.byteLength(value) > LIMITS.variableValueBytes)
    throw new Error(`the value of ${name} cannot be given to a program`)
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
