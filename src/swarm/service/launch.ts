/**
 * The first process of an app: it fills the folders that the app may write with what the image has for them, reads the variables
 * of the app, and starts the app. Variables are secrets of the swarm, so they stand in no specification. It is the shell of
 * the image, which every version of Node has beside it.
 *
 * When the instance is to end, the app is told so after its connections are closed. Swarm chooses which instance ends, so edges
 * learn it when it is decided: until then they send requests, and those in flight end. They close their connections to an
 * instance that gets no more requests; so when none was open for two seconds, no edge uses it. The app is told after half a
 * minute in any case. Names of the shell's own variables are long, as those of the app are beside them.
 */
import { LIMITS } from '../../contract/index.ts'

/**
 * Its arguments are the file of variables, the port in four hexadecimal digits, the folders, `--`, and the app's program with its
 * arguments. Connections of the app to itself do not count; an image without `sleep` is of an earlier version.
 */
export const LAUNCH = `
headland_port=$1
shift
while [ "$1" != -- ]; do
  if [ -d "/headland/initial\${1#/app}" ]; then cp -R "/headland/initial\${1#/app}/." "$1/" || exit; fi
  shift
done
shift
. "$0" || exit
/usr/bin/env "$@" &
headland_app=$!
headland_is_used() {
  for headland_table in /proc/net/tcp /proc/net/tcp6; do
    [ -r "$headland_table" ] || continue
    while read -r headland_rest headland_local headland_remote headland_state headland_rest; do
      case "$headland_local $headland_remote $headland_state" in
        *:"$headland_port "*0100007F:* | *:"$headland_port "*01000000:*) ;;
        *:"$headland_port "*' 01') return 0 ;;
      esac
    done <"$headland_table"
  done
  return 1
}
headland_end() {
  trap '' TERM
  headland_ended=1 headland_turns=0 headland_unused=0
  while [ "$headland_turns" -lt 120 ] && [ "$headland_unused" -lt 8 ]; do
    /bin/sleep 0.25 || break
    headland_turns=$((headland_turns + 1)) headland_unused=$((headland_unused + 1))
    if headland_is_used; then headland_unused=0; fi
  done
  kill -TERM "$headland_app"
}
trap headland_end TERM
wait "$headland_app"
headland_status=$?
if [ "$headland_ended" ]; then
  wait "$headland_app"
  headland_last=$?
  if [ "$headland_last" -ne 127 ]; then headland_status=$headland_last; fi
fi
exit "$headland_status"`

/** As the kernel writes it in its list of connections. */
export const portText = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

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
