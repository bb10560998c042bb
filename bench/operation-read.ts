/** Reading an operation, credentials checked and log line written, against a bare Fastify route with the same bytes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Bench } from './bench.ts'
import { inTurns, TURNS } from './rounds.ts'
import { end, logIn, ready, startService, temporaryFolder } from './service.ts'

export const operationRead: Bench = {
  name: 'operation-read',
  what: 'GET of an operation by Basic authentication, beside a bare Fastify route that sends the same object',
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    await using service = await startService(folder.path)
    const headers = await logIn(folder.path)
    const path = await makeOperation(service.api, headers)
    const body = await (await fetch(service.api + path, { headers })).text()
    await using bare = await startBare(path, body)
    assert.equal(await (await fetch(bare.url + path)).text(), body)

    const servers = {
      ours: { url: service.api + path, pid: service.controlPid, headers },
      peer: { url: bare.url + path, pid: bare.pid, headers },
    }
    const { ours, peer } = await inTurns(servers, { connections: 32 })
    return [
      {
        what: 'requests',
        unit: '/s',
        ours: ours.requestsPerSecond,
        peer: peer.requestsPerSecond,
        goal: { of: 'ratio', min: 0.5 },
      },
      {
        what: 'CPU per request',
        unit: 'µs',
        ours: ours.cpuMicrosecondsPerRequest,
        peer: peer.cpuMicrosecondsPerRequest,
      },
    ]
  },
}

/** An app, an environment, and the path of the operation that made it, which is done. */
export async function makeOperation(api: string, headers: Record<string, string>): Promise<string> {
  async function post(path: string, body: object): Promise<string> {
    const response = await fetch(api + path, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return text
  }
  await post('/v1/accounts/default/apps?appId=shop', { region: 'regions/EU-W', uploadable: {} })
  const draft = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: 'my-wordpress' }
  const { name } = JSON.parse(await post('/v1/accounts/default/apps/shop/environments', draft))
  const { done } = JSON.parse(await post(`/v1/${name}:wait`, {}))
  assert.equal(done, true)
  return `/v1/${name}`
}

async function startBare(path: string, body: string) {
  const program = fileURLToPath(new URL('./bare-fastify.ts', import.meta.url))
  const child = spawn(process.execPath, [program, path, body], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { url } = await ready(child)
  return { url: String(url), pid: child.pid as number, [Symbol.asyncDispose]: () => end(child) }
}
