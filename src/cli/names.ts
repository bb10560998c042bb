/**
 * Names of accounts, apps and environments, for a shell that completes what is typed. They come at once or not at all:
 * nothing is asked of the person, nothing is told of what went wrong, and what was heard is good for half a minute.
 */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { printableLine } from '../base/index.ts'
import type { resources } from '../contract/index.ts'
import type { ClientCall, NameKind } from './command.ts'
import { api } from './path.ts'
import { readSmallFile, replaceFile } from './small-files.ts'
import { accountsOf, atAccount, atApp, atService, lastPart } from './where.ts'

/** Who presses Tab waits for this long. */
const ANSWER_MS = 1500
const NAMES_MOST = 1000
const NAME_LENGTH_MOST = 200

/** Those that can be completed; none where the service does not answer, or would have to ask who it is. */
export async function namesFor(
  kind: NameKind,
  call: ClientCall,
  typed: readonly string[],
  answerMs = ANSWER_MS,
): Promise<string[]> {
  const late = Promise.withResolvers<string[]>()
  const timer = setTimeout(() => late.resolve([]), answerMs)
  const asked = { ...call, options: optionsIn(typed), answerMs }
  try {
    return (await Promise.race([findKept(kind, asked), late.promise])).filter(isCompletable)
  } catch {
    // A message between the words that somebody types would be worse than no names.
    return []
  } finally {
    clearTimeout(timer)
  }
}

/** A name that a shell, or this program, would not get as it was told is left out. */
const isCompletable = (name: string): boolean =>
  name !== '' && name.length <= NAME_LENGTH_MOST && !name.startsWith('-') && printableLine(name) === name

async function find(kind: NameKind, call: ClientCall): Promise<string[]> {
  if (kind === 'accounts') return (await accountsOf((await atService(call)).service)).map(lastPart)
  if (kind === 'apps') {
    const { service, account } = await atAccount(call)
    return (await service.list<resources.App>(api`/v1/accounts/${account}/apps`, 'apps')).map(lastPart)
  }
  const { service, account, app } = await atApp(call)
  const path = api`/v1/accounts/${account}/apps/${app}/environments`
  return titlesOf(await service.list<resources.Environment>(path, 'environments'))
}

/** By name, as people know them; by id where two are called the same. */
function titlesOf(environments: readonly resources.Environment[]): string[] {
  const names = environments.map(({ displayName }) => displayName)
  const isAlone = (name: string) => names.indexOf(name) === names.lastIndexOf(name)
  return environments.map((one) => (isAlone(one.displayName) ? one.displayName : lastPart(one)))
}

/** `--app shop` and `--app=shop`, however a shell took the line apart. None of these values has a space or such a sign. */
function optionsIn(typed: readonly string[]): ClientCall['options'] {
  const words = typed.join(' ').split(/[\s=]+/)
  const valueAt = (flag: string) => words[words.lastIndexOf(flag) + 1]
  const given = ['url', 'account', 'app'].filter((name) => words.includes(`--${name}`) && valueAt(`--${name}`))
  return Object.fromEntries(given.map((name) => [name, valueAt(`--${name}`)]))
}

/** How long names are good for that were heard a moment ago, and of how many questions. */
const KEPT_MS = 30_000
const KEPT_MOST = 20
const KEPT_BYTES_MOST = 1024 * 1024

type Kept = { key: string; time: number; names: string[] }

async function findKept(kind: NameKind, call: ClientCall): Promise<string[]> {
  const { service, project } = await atService(call)
  const folder = join(call.environment.cacheFolder, 'headland')
  const file = join(folder, 'names.json')
  // What one log-in sees is not for another one of the same person.
  const key = createHash('sha256')
    .update(JSON.stringify([kind, service.url, service.authorization, call.options, project]))
    .digest('hex')
  const now = Date.now()
  const fresh = (await readKept(file)).filter(({ time }) => time <= now && now - time < KEPT_MS)
  const found = fresh.find((one) => one.key === key)
  if (found) return found.names
  const names = (await find(kind, call)).filter(isCompletable).slice(0, NAMES_MOST)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const others = fresh.filter((one) => one.key !== key).slice(-KEPT_MOST + 1)
  await replaceFile(file, JSON.stringify([...others, { key, time: now, names }]), 0o600)
  return names
}

/** Whatever else stands there is written over. */
async function readKept(file: string): Promise<Kept[]> {
  try {
    const found = await readSmallFile(file, { maxBytes: KEPT_BYTES_MOST })
    const all: unknown = JSON.parse(found?.content.toString('utf8') ?? '[]')
    return Array.isArray(all) ? all.filter(isKept) : []
  } catch {
    return []
  }
}

function isKept(one: Kept | null): one is Kept {
  return typeof one?.key === 'string' && typeof one.time === 'number' && Array.isArray(one.names)
}
