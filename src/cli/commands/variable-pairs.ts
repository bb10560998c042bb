/** Variables as they are given on a command line: `KEY=VALUE`, `KEY` alone with the value at stdin, or a file of them. */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { names, type resources, UsageError } from '../../contract/index.ts'
import type { ClientCall } from '../command.ts'

const KEY = new RegExp(String(names.variableKey.pattern))

/** What comes later wins. */
export async function readPairs(call: ClientCall, given: readonly string[]): Promise<resources.ShellVariable[]> {
  const pairs = new Map<string, string>()
  const withoutValue = given.filter((one) => !one.includes('='))
  // There is one stdin, and it ends once.
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

/** The variables of a dotenv file, by the rules of Node's own `--env-file`. */
export async function readPairsIn(folder: string, file: string): Promise<resources.ShellVariable[]> {
  let text: string
  try {
    text = await readFile(resolve(folder, file), 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`)
  }
  const pairs = Object.entries(parseEnv(text)).map(([key, value]) => ({ key: checkKey(key), value: value ?? '' }))
  if (pairs.length === 0) throw new UsageError(`${file} holds no variable`)
  return pairs
}

export function checkKey(key: string): string {
  if (!KEY.test(key)) throw new UsageError(`'${key}' is not the name of a variable: letters, digits and underscores`)
  return key
}

/** A value that must not be seen in the list of processes or in the history of a shell. */
async function secretOf({ terminal }: ClientCall, key: string): Promise<string> {
  if (terminal.isInteractive) return terminal.ask(`Value of ${key}: `, { isHidden: true })
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  if (pieces.length === 0) throw new UsageError(`${key} has no value: give ${key}=VALUE, or the value at stdin`)
  // What `echo` and editors put at the end is not part of it.
  return Buffer.concat(pieces)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}
