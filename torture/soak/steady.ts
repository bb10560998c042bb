/**
 * A steady load like that of a busy day: visits, webhooks that coalesce, purges, some uploads, and readers of streams
 * and logs.
 */
import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { deploy, nodeServer, page, upload } from '../../test/support/service/deploy.ts'
import { createEnvironment } from '../../test/support/service/environment.ts'
import { follow } from '../../test/support/service/events.ts'
import type { Login, TestService } from '../../test/support/service/service.ts'
import { createWebhooks, hook } from '../../test/support/service/webhooks.ts'

export const ACCOUNTS = ['red', 'blue']
/** The number of pages of each app, so that the cache stops growing. */
const PAGES = 500
const EVERY_MS = { visit: 15, webhooks: 5000, purge: 2500, upload: 20_000, stream: 3000, logs: 2000 }
const CALLS_TOGETHER = 5
const VISITORS = 2

export type Load = { counts: Record<string, number>; failures: string[] }

const app = (version: string) =>
  nodeServer(
    version,
    `response.setHeader('cache-control', 's-maxage=3600'); response.write(${JSON.stringify('x'.repeat(2000))})`,
  )
const site = (version: string) => ({ ...page(version), 'package.json': '{}' })

/** Runs until the signal. Every unexpected response is a failure. */
export async function runSteadyLoad(service: TestService, signal: AbortSignal): Promise<Load> {
  const load: Load = { counts: {}, failures: [] }
  const homes = await Promise.all(ACCOUNTS.map((account) => furnish(service, account)))
  const over = signal

  /** Repeats the action with a pause in between. */
  async function loop(kind: keyof typeof EVERY_MS, act: (round: number) => Promise<unknown>) {
    for (let round = 0; !over.aborted; round++) {
      await act(round).then(
        () => {
          load.counts[kind] = (load.counts[kind] ?? 0) + 1
        },
        (error) => load.failures.push(`${kind}: ${(error as Error).message}`),
      )
      await wait(EVERY_MS[kind], undefined, { signal: over }).catch(() => undefined)
    }
  }

  const agent = new Agent({ keepAlive: true })
  await Promise.all(
    homes.flatMap(({ as, account, environments }) => [
      ...environments.flatMap(({ name, url, hooks, files }) => [
        ...Array.from({ length: VISITORS }, () =>
          loop('visit', (round) => visit(service, url, round % 3 === 0 ? `/?page=${round % PAGES}` : '/', agent)),
        ),
        loop('webhooks', () =>
          Promise.all(Array.from({ length: CALLS_TOGETHER }, () => must(hook(service, hooks.rebuild)))),
        ),
        loop('purge', () => must(hook(service, hooks.purgeCache))),
        loop('upload', (round) => must(upload(service, as, name, files(`version ${round}`)))),
        loop('logs', () => readLogs(service, as, name)),
      ]),
      loop('stream', () => openStream(service, as, account)),
    ]),
  )
  agent.destroy()
  return load
}

async function furnish(service: TestService, account: string) {
  const as = await service.login('owner', account)
  const environments = await Promise.all(
    [app, site].map(async (files) => {
      const { name, url } = await createEnvironment(service, as, { account })
      const { error } = await deploy(service, as, name, files('first'))
      if (error) throw new Error(`the first upload failed: ${error.message}`)
      return { name, url, files, hooks: await createWebhooks(service, as, name) }
    }),
  )
  return { account, as, environments }
}

async function must(asked: Promise<{ status: number; text: string }>) {
  const { status, text } = await asked
  if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`)
}

async function readLogs(service: TestService, as: Login, environment: string) {
  await must(service.call(`/v1/${environment}/logs`, { as }))
  const { json } = await service.call(`/v1/${environment}/builds?pageSize=1`, { as })
  await must(service.call(`/v1/${json.builds[0].name}/log`, { as }))
}

async function openStream(service: TestService, as: Login, account: string) {
  const stream = await follow({ after: () => undefined }, service, { as }, `/v1/accounts/${account}/events`)
  await wait(EVERY_MS.stream / 2)
  stream.close()
  await stream.ended
}

function visit({ edge }: TestService, url: string, path: string, agent: Agent): Promise<void> {
  const { hostname, port } = new URL(edge)
  return new Promise((resolve, reject) => {
    request({ host: hostname, port, path, agent, headers: { host: new URL(url).host } }, (response) => {
      response.resume()
      response.once('error', reject)
      response.once('end', () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`)),
      )
    })
      .once('error', reject)
      .end()
  })
}
