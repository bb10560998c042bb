/** More instances of an app that computes use more processors. */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { zipOf } from '../test/support/zip.ts'
import { type Bench, IS_QUICK } from './bench.ts'
import { type Caller, createApp, createEnvironment, deploy, read } from './client.ts'
import { inTurns } from './rounds.ts'
import { logIn, startService, temporaryFolder } from './service.ts'

const INSTANCES = 4
const WAITS = 600

/** Each response takes about twenty milliseconds of a processor, as a page that is rendered does. */
const APP = {
  'package.json': JSON.stringify({ name: 'computes', version: '1.0.0', scripts: { start: 'node server.js' } }),
  'server.js': `
    const { pbkdf2Sync } = require('node:crypto')
    require('node:http').createServer((_, response) => {
      pbkdf2Sync('page', 'salt', ${IS_QUICK ? 1000 : 100_000}, 32, 'sha256')
      response.setHeader('cache-control', 'no-store').end('rendered')
    }).listen(process.env.PORT, process.env.HOST)`,
}

export const instances: Bench = {
  name: 'instances',
  what: `an app that computes for each response, with ${INSTANCES} instances beside one, on all processors of this machine`,
  noise:
    'both under the same load in turns, medians of five rounds after a warm-up; the client needs little of a processor',
  async run() {
    await using folder = await temporaryFolder()
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir)
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await createApp(caller, 'computes')
    const one = await site(caller, 1)
    const several = await site(caller, INSTANCES)
    const loaded = ({ url }: { url: string }) => ({
      url: service.edge,
      pid: service.pid,
      headers: { Host: new URL(url).host },
    })
    const costs = await inTurns({ ours: loaded(several), peer: loaded(one) }, { connections: 16 })
    return [
      {
        what: 'responses',
        beside: 'one instance',
        unit: '/s',
        ours: costs.ours.requestsPerSecond,
        peer: costs.peer.requestsPerSecond,
        goal: { of: 'ratio', min: 1.8 },
      },
      {
        what: 'CPU per response',
        beside: 'one instance',
        unit: 'µs',
        ours: costs.ours.cpuMicrosecondsPerRequest,
        peer: costs.peer.cpuMicrosecondsPerRequest,
      },
    ]
  },
}

/** Resolves when all its instances answer. */
async function site(caller: Caller, count: number): Promise<{ url: string }> {
  const environment = await createEnvironment(caller, 'computes')
  const headers = { ...caller.headers, 'content-type': 'application/json' }
  const body = JSON.stringify({ minInstances: count, maxInstances: count })
  const changed = await fetch(`${caller.api}/v1/${environment.name}`, { method: 'PATCH', headers, body })
  if (changed.status !== 200) throw new Error(`the instances were not set: ${await changed.text()}`)
  await deploy(caller, environment.name, zipOf(APP))
  for (let waits = 0; waits < WAITS; waits++) {
    const { deployment } = (await read(caller, `/v1/${environment.name}`)) as { deployment: string }
    const { instance } = (await read(caller, `/v1/${deployment}`)) as { instance?: { running: number } }
    if (instance?.running === count) return environment
    await wait(100)
  }
  throw new Error('not all instances run')
}
