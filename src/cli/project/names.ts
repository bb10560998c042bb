/**
 * Names of accounts, apps and environments, and ids of builds and deployments, for shell completion. It must be quick and
 * silent: no question, no error message, and results are cached for half a minute.
 */
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { printableLine } from '../../base/index.ts'
import { ACCOUNT, APP, ENVIRONMENT, type Environment } from '../../client/index.ts'
import { shortId } from '../../contract/index.ts'
import type { ClientCall, Completion, NameKind } from '../command.ts'
import { oneLine, when } from '../output/rows.ts'
import { readSmallFile, replaceFile } from './small-files.ts'
import { accountsOf, atAccount, atApp, atEnvironment, atService, lastPart } from './where.ts'

/** A user who presses Tab waits this long at most. */
const ANSWER_MS = 1500
const MAX_NAMES = 1000
const MAX_NAME_LENGTH = 200
const MAX_ABOUT_LENGTH = 100
/** Of builds and deployments, the newest: what is older is named by its whole id. */
const MAX_IDS = 50

/** Those that can be completed; none where the service does not answer, or the user is not logged in. */
export async function namesFor(
  kind: NameKind,
  call: ClientCall,
  typed: readonly string[],
  answerMs = ANSWER_MS,
): Promise<Completion[]> {
  const late = Promise.withResolvers<Completion[]>()
  const timer = setTimeout(() => late.resolve([]), answerMs)
  const asked = { ...call, options: optionsIn(typed), answerMs }
  try {
    return fit(await Promise.race([findKept(kind, asked), late.promise]))
  } catch {
    // A message in the middle of the command line would be worse than no names.
    return []
  } finally {
    clearTimeout(timer)
  }
}

/** Leaves out words that a shell or this program would take for something else, and duplicates. */
function fit(found: readonly Completion[]): Completion[] {
  const words = new Map(found.filter(({ word }) => isCompletable(word)).map((one) => [one.word, one]))
  return [...words.values()].map(({ word, about }) => ({
    word,
    ...(about ? { about: oneLine(about).slice(0, MAX_ABOUT_LENGTH) } : {}),
  }))
}

const isCompletable = (name: string): boolean =>
  name !== '' && name.length <= MAX_NAME_LENGTH && !name.startsWith('-') && printableLine(name) === name

async function find(kind: NameKind, call: ClientCall): Promise<Completion[]> {
  if (kind === 'accounts') return words((await accountsOf((await atService(call)).service)).map(lastPart))
  if (kind === 'apps') {
    const { service, account } = await atAccount(call)
    const apps = service.client.list(`GET ${ACCOUNT}/apps`, { path: { account } })
    return words((await Array.fromAsync(apps)).map(lastPart))
  }
  if (kind === 'environments') {
    const { service, account, app } = await atApp(call)
    const path = { account, app }
    const route = `GET ${APP}/environments` as const
    return titlesOf(await Array.fromAsync(service.client.list(route, { path })))
  }
  const { service, names: path } = await atEnvironment(call)
  const { client } = service
  if (kind === 'builds') {
    const { items } = await client.first(`GET ${ENVIRONMENT}/builds`, { path, limit: MAX_IDS })
    return idsOf(items, ({ state, trigger, createTime }) => `${state}, ${trigger}, ${ago(createTime)}`)
  }
  const { items } = await client.first(`GET ${ENVIRONMENT}/deployments`, { path, limit: MAX_IDS })
  return idsOf(items, ({ state, build, createTime }) => `${state}, build ${shortId(build)}, ${ago(createTime)}`)
}

const words = (names: readonly string[]): Completion[] => names.map((word) => ({ word }))

/** By name, as people know them; by id where two are called the same. */
function titlesOf(environments: readonly Environment[]): Completion[] {
  const names = environments.map(({ displayName }) => displayName)
  const isAlone = ({ displayName }: Environment) => names.indexOf(displayName) === names.lastIndexOf(displayName)
  const twins = idsOf(
    environments.filter((one) => !isAlone(one)),
    ({ displayName, state }) => `${displayName}, ${state}`,
  )
  return [...words(environments.filter(isAlone).map(({ displayName }) => displayName)), ...twins]
}

/** Short ids as they are displayed; whole ones where two end alike. */
function idsOf<T extends { name: string }>(all: readonly T[], about: (one: T) => string): Completion[] {
  const ends = Map.groupBy(all, ({ name }) => shortId(name))
  return all.map((one) => {
    const isAlone = ends.get(shortId(one.name))?.length === 1
    return { word: isAlone ? shortId(one.name) : lastPart(one), about: about(one) }
  })
}

const ago = (time: string): string => when({ isShown: true }, time)

/** `--app shop` and `--app=shop`, however a shell took the line apart. */
function optionsIn(typed: readonly string[]): ClientCall['options'] {
  // bash passes the line as it is, and other shells pass it word by word.
  const given = typed.length === 1 ? wordsIn(typed[0] ?? '') : typed
  const options = ['url', 'account', 'app', 'env'].map((name) => [name, valueBehind(given, `--${name}`)] as const)
  return Object.fromEntries(options.filter(([, value]) => value))
}

/** The last one that was typed. bash puts an equals sign into a word of its own. */
function valueBehind(given: readonly string[], flag: string): string | undefined {
  const at = given.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`))
  if (at === -1) return undefined
  const joined = given[at]?.slice(flag.length + 1)
  return joined || (given[at + 1] === '=' ? given[at + 2] : given[at + 1])
}

const WORD = /(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^\s\\'"])+/g

/** The words of a line, without the quotes that keep each of them together. */
const wordsIn = (line: string): string[] =>
  (line.match(WORD) ?? []).map((word) =>
    word.replaceAll(
      /\\(.)|'([^']*)'|"((?:\\.|[^"\\])*)"/g,
      (_, one, single, double) => one ?? single ?? (double as string).replaceAll(/\\(.)/g, '$1'),
    ),
  )

/** How long results are cached, and how many. */
const KEPT_MS = 30_000
const MAX_KEPT = 20
const MAX_KEPT_BYTES = 1024 * 1024

type Kept = { key: string; time: number; names: Completion[] }

async function findKept(kind: NameKind, call: ClientCall): Promise<Completion[]> {
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
  const names = fit(await find(kind, call)).slice(0, MAX_NAMES)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const others = fresh.filter((one) => one.key !== key).slice(-MAX_KEPT + 1)
  await replaceFile(file, JSON.stringify([...others, { key, time: now, names }]), 0o600)
  return names
}

/** A file with any other content is overwritten. */
async function readKept(file: string): Promise<Kept[]> {
  try {
    const found = await readSmallFile(file, { maxBytes: MAX_KEPT_BYTES })
    const all: unknown = JSON.parse(found?.content.toString('utf8') ?? '[]')
    return Array.isArray(all) ? all.filter(isKept) : []
  } catch {
    return []
  }
}

function isKept(one: Kept | null): one is Kept {
  const isList = Array.isArray(one?.names) && one.names.every((name) => typeof name?.word === 'string')
  return typeof one?.key === 'string' && typeof one.time === 'number' && isList
}
