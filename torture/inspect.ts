/** Waits until every operation is done, and then asks the service for its state. */
import { setTimeout as wait } from 'node:timers/promises'
import type { resources } from '../src/contract/index.ts'
import { look, unfinishedOf, visit } from './callers.ts'
import type { FoundEnvironment, FoundState } from './check.ts'
import { idOf, type Journal } from './journal.ts'
import type { TortureService } from './service.ts'

/** The lease of a killed service expires after 30 seconds; a build that hangs is ended after 30 more. */
const TIMEOUT_MS = 150_000
const LOOK_MS = 250

export type Inspected = FoundState & {
  /** Deployments that are live, by environment. */
  live: Map<string, { deployment: string; isServer: boolean }>
}

export async function inspect(
  service: TortureService,
  journal: Journal,
  accounts: readonly string[],
): Promise<Inspected> {
  await untilAllDone(service, journal, accounts)
  const parts = await Promise.all(accounts.map((account) => inspectAccount(service, journal, account)))
  return {
    apps: parts.flatMap(({ apps }) => apps),
    environments: parts.flatMap(({ environments }) => environments),
    operations: new Map(parts.flatMap(({ operations }) => [...operations])),
    live: new Map(parts.flatMap(({ live }) => [...live])),
  }
}

/** Gives up after a while: an operation that is not done then is reported as stuck. */
async function untilAllDone(service: TortureService, journal: Journal, accounts: readonly string[]) {
  const until = performance.now() + TIMEOUT_MS
  while (performance.now() < until) {
    let count = 0
    for (const account of accounts) {
      for (const operation of unfinishedOf(journal, account)) await look(service, journal, account, operation)
      const environments = (
        await Promise.all((await appsOf(service, account)).map((app) => environmentsOf(service, account, app)))
      ).flat()
      count += unfinishedOf(journal, account).length + environments.filter(({ reconciling }) => reconciling).length
    }
    if (count === 0) return
    await wait(LOOK_MS)
  }
}

async function inspectAccount(service: TortureService, journal: Journal, account: string) {
  const operations: FoundState['operations'] = new Map()
  for (const { operation, account: of, outcome } of journal.records.calls) {
    if (of !== account || outcome !== 'acknowledged' || operation === '' || operations.has(operation)) continue
    const { found } = await look(service, journal, account, operation)
    if (found) operations.set(operation, found)
  }
  const apps = await appsOf(service, account)
  const environments: FoundEnvironment[] = []
  const live: Inspected['live'] = new Map()
  for (const app of apps) {
    for (const environment of await environmentsOf(service, account, app)) {
      const found = await inspectEnvironment(service, journal, account, environment)
      environments.push(found.environment)
      for (const [name, operation] of found.operations) operations.set(name, operation)
      live.set(environment.name, found.live)
    }
  }
  return { apps, environments, operations, live }
}

async function inspectEnvironment(
  service: TortureService,
  journal: Journal,
  account: string,
  given: resources.Environment,
) {
  const { name, url } = given
  const page = await visit(service, journal, { environment: name, url, path: '/' })
  const ledger = await listAll<resources.RecordedTrigger>(service, account, {
    path: `/v1/${name}/triggers`,
    field: 'triggers',
  })
  const listed = await listAll<resources.Operation>(service, account, {
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
    page,
    rebuilt: await rebuild(service, journal, account, given),
  }
  const { json } = await service.call(account, `/v1/${name}`)
  const after = await visit(service, journal, { environment: name, url, path: '/' })
  return {
    environment,
    operations,
    live: { deployment: idOf(json.deployment), isServer: after.marks?.kind === 'server' },
  }
}

/** Builds the last archive once more: the result must be the last version. Undefined if that archive is broken. */
async function rebuild(
  service: TortureService,
  journal: Journal,
  account: string,
  { name, url }: resources.Environment,
) {
  const asked = await service.call(account, `/v1/${name}:rebuild`, { method: 'POST', body: {}, caller: 'last' })
  if (asked.status !== 200) return undefined
  for (let tries = 0; tries < 4; tries++) {
    const { json } = await service.call(account, `/v1/${asked.json.name}:wait?timeout=30s`, { method: 'POST' })
    if (!json?.done) continue
    if (json.error) return undefined
    return (await visit(service, journal, { environment: name, url, path: '/' })).marks
  }
  throw new Error(`the last rebuild of ${name} is stuck`)
}

const appsOf = async (service: TortureService, account: string): Promise<string[]> =>
  (await listAll<resources.App>(service, account, { path: `/v1/accounts/${account}/apps`, field: 'apps' })).map(
    ({ name }) => name,
  )

const environmentsOf = (service: TortureService, account: string, app: string) =>
  listAll<resources.Environment>(service, account, {
    path: `/v1/${app}/environments`,
    field: 'environments',
    query: '&view=FULL',
  })

type Collection = { path: string; field: string; query?: string }

async function listAll<T>(
  service: TortureService,
  account: string,
  { path, field, query = '' }: Collection,
): Promise<T[]> {
  const items: T[] = []
  for (let pageToken = ''; ; ) {
    const { status, json, text } = await service.call(account, `${path}?pageSize=200&pageToken=${pageToken}${query}`)
    if (status === 404) return items
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`)
    items.push(...json[field])
    pageToken = json.nextPageToken
    if (!pageToken) return items
  }
}
