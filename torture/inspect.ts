/** Waits until every operation is done, and then asks the service for its state. */
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../src/contract/index.ts'
import { look, unfinishedOf, visit } from './callers.ts'
import type { FoundEnvironment, FoundState } from './check.ts'
import { idOf, type Journal } from './journal.ts'
import type { System } from './system.ts'

/** The lease of a killed service expires after 30 seconds; a build that hangs is ended after 30 more. */
const TIMEOUT_MS = 150_000
const LOOK_MS = 250

export type Inspected = FoundState & {
  /** Deployments that are live, by environment. */
  live: Map<string, { deployment: string; isServer: boolean }>
}

export async function inspect(system: System, journal: Journal, accounts: readonly string[]): Promise<Inspected> {
  await untilAllDone(system, journal, accounts)
  const parts = await Promise.all(accounts.map((account) => inspectAccount(system, journal, account)))
  return {
    apps: parts.flatMap(({ apps }) => apps),
    environments: parts.flatMap(({ environments }) => environments),
    operations: new Map(parts.flatMap(({ operations }) => [...operations])),
    live: new Map(parts.flatMap(({ live }) => [...live])),
  }
}

/** Gives up after a while: an operation that is not done then is reported as stuck. */
async function untilAllDone(system: System, journal: Journal, accounts: readonly string[]) {
  const until = performance.now() + TIMEOUT_MS
  while (performance.now() < until) {
    let count = 0
    for (const account of accounts) {
      for (const operation of unfinishedOf(journal, account)) await look(system, journal, account, operation)
      const environments = (
        await Promise.all((await appsOf(system, account)).map((app) => environmentsOf(system, account, app)))
      ).flat()
      count += unfinishedOf(journal, account).length + environments.filter(({ reconciling }) => reconciling).length
    }
    if (count === 0) return
    await wait(LOOK_MS)
  }
}

async function inspectAccount(system: System, journal: Journal, account: string) {
  const operations: FoundState['operations'] = new Map()
  for (const { operation, account: of, outcome } of journal.records.calls) {
    if (of !== account || outcome !== 'acknowledged' || operation === '' || operations.has(operation)) continue
    const { found } = await look(system, journal, account, operation)
    if (found) operations.set(operation, found)
  }
  const apps = await appsOf(system, account)
  const environments: FoundEnvironment[] = []
  const live: Inspected['live'] = new Map()
  for (const app of apps) {
    for (const environment of await environmentsOf(system, account, app)) {
      const found = await inspectEnvironment(system, journal, account, environment)
      environments.push(found.environment)
      for (const [name, operation] of found.operations) operations.set(name, operation)
      live.set(environment.name, found.live)
    }
  }
  return { apps, environments, operations, live }
}

async function inspectEnvironment(system: System, journal: Journal, account: string, given: resources.Environment) {
  const { name } = given
  const pages = await visitAll(system, journal, given)
  const ledger = await listAll<resources.RecordedTrigger>(system, account, {
    path: `/v1/${name}/triggers`,
    field: 'triggers',
  })
  const listed = await listAll<resources.Operation>(system, account, {
    path: `/v1/${name}/operations`,
    field: 'operations',
  })
  const operations: FoundState['operations'] = new Map(
    listed.map(({ name: operation, done, error }) => [
      operation,
      { isDone: done, error: error ? String(error.details[0]?.reason) : undefined },
    ]),
  )
  const environment: FoundEnvironment = {
    name,
    build: given.build === '' ? '' : idOf(given.build),
    variables: Object.fromEntries(given.shellVariables.map(({ key, value }) => [key, String(value)])),
    ledger: ledger.map(({ userAgent, operation }) => ({ userAgent, operation })),
    pages,
    rebuilt: await rebuild(system, journal, account, given),
  }
  const { json } = await system.call(account, `/v1/${name}`)
  const [after] = await visitAll(system, journal, given)
  return {
    environment,
    operations,
    live: { deployment: idOf(json.deployment), isServer: after?.marks?.kind === 'server' },
  }
}

/** Builds the last archive once more: the result must be the last version. Undefined if that archive is broken. */
async function rebuild(system: System, journal: Journal, account: string, given: resources.Environment) {
  const { name } = given
  const asked = await system.call(account, `/v1/${name}:rebuild`, { method: 'POST', body: {}, caller: 'last' })
  if (asked.status !== 200) return undefined
  for (let tries = 0; tries < 4; tries++) {
    const { json } = await system.call(account, `/v1/${asked.json.name}:wait?timeout=30s`, { method: 'POST' })
    if (!json?.done) continue
    if (json.error) return undefined
    return (await visitAll(system, journal, given)).flatMap(({ marks }) => marks ?? [])
  }
  throw new Error(`the last rebuild of ${name} is stuck`)
}

/** Through every edge. */
const visitAll = (system: System, journal: Journal, { name, url }: resources.Environment) =>
  Promise.all(system.edges().map((_, edge) => visit(system, journal, { environment: name, url, path: '/', edge })))

const appsOf = async (system: System, account: string): Promise<string[]> =>
  (await listAll<resources.App>(system, account, { path: `/v1/accounts/${account}/apps`, field: 'apps' })).map(
    ({ name }) => name,
  )

const environmentsOf = (system: System, account: string, app: string) =>
  listAll<resources.Environment>(system, account, {
    path: `/v1/${app}/environments`,
    field: 'environments',
    query: '&view=FULL',
  })

type Collection = { path: string; field: string; query?: string }

async function listAll<T>(system: System, account: string, { path, field, query = '' }: Collection): Promise<T[]> {
  const items: T[] = []
  for (let pageToken = ''; ; ) {
    const { status, json, text } = await system.call(account, `${path}?pageSize=200&pageToken=${pageToken}${query}`)
    if (status === 404) return items
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    items.push(...json[field])
    pageToken = json.nextPageToken
    if (!pageToken) return items
  }
}
