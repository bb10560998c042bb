/**
 * What a webhook call costs while a build waits: it joins that build, and is in the ledger on disk before the response.
 * Beside it a bare Fastify route that takes the same request, does nothing and sends the same bytes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { zipOf } from '../test/support/zip.ts'
import type { Bench } from './bench.ts'
import { type Caller, createApp, createEnvironment, post, read } from './client.ts'
import { inTurns, TURNS } from './rounds.ts'
import { end, logIn, ready, startService, temporaryFolder } from './service.ts'

/** As a CMS calls: without a body. */
export const POST = `wrk.method = 'POST'`
const TIMEOUT_MS = 60_000

export const webhook: Bench = {
  name: 'webhook',
  what: 'calls of a webhook from 50 connections, each of which joins a build that waits, beside a bare Fastify route',
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    const script = join(folder.path, 'post.lua')
    await writeFile(script, POST)
    const dataDir = join(folder.path, 'data')
    await using service = await startService(dataDir, { HEADLAND_WEBHOOK_CALLS: '1000000000' })
    const caller = { api: service.api, headers: await logIn(dataDir) }
    await using held = await holdBuild(caller)
    const { pathname, search } = new URL(await rebuildUrl(caller, held.environment))
    const path = pathname + search
    const call = () => post({ api: service.api, headers: {} }, path, {})

    const waiting = await call()
    const same = await fetch(service.api + path, { method: 'POST' })
    await using bare = await startBare(await same.text())
    const servers = {
      ours: { url: service.api + path, pid: service.controlPid },
      peer: { url: bare.url + path, pid: bare.pid },
    }
    const { ours, peer } = await inTurns(servers, { connections: 50, script, warmUpSeconds: 10 })
    assert.equal((await call()).name, waiting.name, 'all of them joined one build')
    return [
      {
        what: 'calls',
        unit: '/s',
        ours: ours.requestsPerSecond,
        peer: peer.requestsPerSecond,
        goal: { of: 'ratio', min: 0.3 },
      },
      {
        what: 'CPU per call',
        unit: 'µs',
        ours: ours.cpuMicrosecondsPerRequest,
        peer: peer.cpuMicrosecondsPerRequest,
        goal: { of: 'ratio', max: 3.3 },
      },
    ]
  },
}

/** An environment with a build that runs until the end of the block, so that the next one waits. */
export async function holdBuild(caller: Caller): Promise<AsyncDisposable & { environment: string }> {
  await createApp(caller, 'shop')
  const { name: environment } = await createEnvironment(caller, 'shop')
  const form = new FormData()
  const build = `node -e "setInterval(() => undefined, 1000000)"`
  const zip = zipOf({ 'package.json': JSON.stringify({ scripts: { build } }) })
  form.append('repository', new Blob([new Uint8Array(zip)]), 'app.zip')
  const { name } = await post(caller, `/fu/v1/${environment}:upload`, form)
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const { metadata } = (await read(caller, `/v1/${name}`)) as { metadata: { phase: string } }
    if (metadata.phase === 'BUILDING') break
    assert.ok(performance.now() < deadline, 'the build was not begun')
    await wait(50)
  }
  return {
    environment,
    async [Symbol.asyncDispose]() {
      const { operations } = (await read(caller, `/v1/${environment}/operations`)) as {
        operations: { name: string; done: boolean }[]
      }
      // The waiting build first: it would start as soon as the other ends.
      for (const { name } of operations.filter(({ done }) => !done)) await post(caller, `/v1/${name}:cancel`, {})
    },
  }
}

export async function rebuildUrl(caller: Caller, environment: string): Promise<string> {
  const made = (await post(caller, `/v1/${environment}/webhooks`, {})) as unknown as {
    webhooks: { action: string; url: string }[]
  }
  return made.webhooks.find(({ action }) => action === 'rebuild')?.url ?? ''
}

async function startBare(text: string) {
  const program = fileURLToPath(new URL('./webhook-bare.ts', import.meta.url))
  const child = spawn(process.execPath, [program, '/wh/*', text], { stdio: ['ignore', 'pipe', 'inherit'] })
  const { url } = await ready(child)
  return { url: String(url), pid: child.pid as number, [Symbol.asyncDispose]: () => end(child) }
}
