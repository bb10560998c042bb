/** Variables as they are given on a command line: `KEY=VALUE`, `KEY` alone with the value from stdin, or a file of them. */
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ShellVariable } from '../../../client/index.ts'
import { LIMITS, names, UsageError } from '../../../contract/index.ts'
import type { ClientCall } from '../../command.ts'
import { ENV_FILE_BYTES, readEnv } from '../../project/env-file.ts'

const KEY = new RegExp(String(names.variableKey.pattern))
const FAULTS_SHOWN = 5

/** Of two with the same key the later one wins. */
export async function readPairs(call: ClientCall, given: readonly string[]): Promise<ShellVariable[]> {
  const pairs = new Map<string, string>()
  const withoutValue = given.filter((one) => !one.includes('='))
  // Only one value can be read from stdin.
  if (withoutValue.length > 1 && !call.terminal.isInteractive) {
    throw new UsageError(`only one value can be read from stdin, and ${withoutValue.join(', ')} have none`)
  }
  for (const one of given) {
    const at = one.indexOf('=')
    const key = checkKey(at === -1 ? one : one.slice(0, at))
    pairs.set(key, at === -1 ? await secretOf(call, key) : one.slice(at + 1))
  }
  return [...pairs].map(([key, value]) => ({ key, value }))
}

/** The variables of a dotenv file, by the rules of Node's own `--env-file`. Errors name the lines that cannot be read. */
export async function readPairsIn(folder: string, file: string): Promise<ShellVariable[]> {
  const { entries, faults } = readEnv(await textOf(resolve(folder, file), file))
  const refused = entries.flatMap(({ line, key, value }) => {
    const why = faultOf(key, value)
    return why === undefined ? [] : [{ line, why: `has ${key}, which ${why}` }]
  })
  const wrong = [...faults, ...refused].toSorted((a, b) => a.line - b.line)
  if (wrong.length > 0) {
    const shown = wrong.slice(0, FAULTS_SHOWN).map(({ line, why }) => `${file}: line ${line} ${why}`)
    const more = wrong.length > FAULTS_SHOWN ? [`and ${wrong.length - FAULTS_SHOWN} more lines`] : []
    throw new UsageError([...shown, ...more].join('\n'))
  }
  if (entries.length === 0) throw new UsageError(`${file} holds no variable`)
  return entries.map(({ key, value }) => ({ key, value }))
}

/** Refuses what the service would refuse, before anything is created. Of two with the same key the later one wins. */
export function checkVariables(given: readonly ShellVariable[]): ShellVariable[] {
  const variables = [...new Map(given.map((one) => [one.key, one])).values()]
  for (const { key, value } of variables) {
    const fault = faultOf(key, value)
    if (fault !== undefined) throw new UsageError(`${key} ${fault}`)
  }
  const bytes = variables.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (variables.length > LIMITS.variables)
    throw new UsageError(`${variables.length} variables are given, and an environment has ${LIMITS.variables} at most`)
  if (bytes > LIMITS.variableTotalBytes)
    throw new UsageError(`the variables have ${bytes} bytes together, of at most ${LIMITS.variableTotalBytes}`)
  return variables
}

export function checkKey(key: string): string {
  if (!KEY.test(key)) throw new UsageError(`'${key}' is not the name of a variable: letters, digits and underscores`)
  return key
}

function faultOf(key: string, value: string): string | undefined {
  if (names.RESERVED_VARIABLES.includes(key)) return 'is set by the service, and cannot be given: leave it out'
  if (Buffer.byteLength(value) > LIMITS.variableValueBytes)
    return `has a value of more than ${LIMITS.variableValueBytes} bytes`
  return value.includes('\0') || !value.isWellFormed()
    ? 'has a value with a character that no variable can have'
    : undefined
}

/** A file, or a pipe as shells make one of `<(command)`. The read is limited. */
async function textOf(path: string, file: string): Promise<string> {
  let content: Buffer
  try {
    content = await buffer(createReadStream(path, { end: ENV_FILE_BYTES }))
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`)
  }
  if (content.length <= ENV_FILE_BYTES) return content.toString('utf8')
  throw new UsageError(
    `${file} has more than ${ENV_FILE_BYTES} bytes: variables have ${LIMITS.variableTotalBytes} at most`,
  )
}

/** A value that must not be seen in the list of processes or in the history of a shell. */
async function secretOf({ terminal }: ClientCall, key: string): Promise<string> {
  if (terminal.isInteractive) return terminal.ask(`Value of ${key}: `, { isHidden: true })
  const value = await secretFromStdin()
  if (value === undefined) throw new UsageError(`${key} has no value: give ${key}=VALUE, or the value at stdin`)
  return value
}

/** Undefined where there is nothing. */
export async function secretFromStdin(): Promise<string | undefined> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  if (pieces.length === 0) return undefined
  // The line end that `echo` and editors add is not part of the value.
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}
