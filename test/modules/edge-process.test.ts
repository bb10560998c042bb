/** The edge as a process of its own, and the messages between it and the control plane. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createSavedRoutes } from '../../src/edge/process/saved-routes.ts'
import type { Stall } from '../../src/watchdog/index.ts'
import { ask, HOST, serverTarget, startUpstream } from '../support/edge/edge.ts'
import { startEdge } from '../support/edge/edge-process.ts'
import { publish } from '../support/edge/publish.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'

const STALL_MS = 400

async function edgeProcess(t: TestContext) {
  const folder = await temporaryFolder(t)
  const routesFile = join(folder, 'routes.log')
  const cache = { memoryBytes: 1e8, folder: join(folder, 'cache'), diskBytes: 1e8 }
  const edge = await startEdge({ folder, cache })
  t.after(() => edge.stop(0))
  return { ...edge, port: edge.address.port, routesFile }
}

test('a sleeping deployment is woken, served, reported, drained and put to sleep', async (t) => {
  let answer: (() => void) | undefined
  const upstream = await startUpstream(t, (asked, response) => {
    if (asked.url === '/slow') answer = () => response.end('slow')
    else response.end('fast')
  })
  const edge = await edgeProcess(t)
  const woken: string[] = []
  const stopListening = edge.onWake((deployment) => woken.push(deployment))
  await publish(edge, { [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd1' } })
  const held = ask(edge.port)
  await until(() => woken.length > 0)
  assert.deepEqual(woken, ['d1'])
  stopListening()

  await publish(edge, { [HOST]: serverTarget(upstream.port) })
  assert.equal((await held).text, 'fast')
  const slow = ask(edge.port, { path: '/slow' })
  await until(() => answer !== undefined)
  const reports: Record<string, number>[] = []
  edge.onActivity((deployments) => reports.push(deployments))
  await until(() => reports.length > 0)
  assert.ok((reports[0]?.d1 ?? 0) >= 1)

  await publish(edge, { [HOST]: { kind: 'asleep', environment: 'e1', deployment: 'd1' } })
  let isDrained = false
  const drained = edge.drain('i1', 30_000).then(() => {
    isDrained = true
  })
  await edge.drain('i2', 30_000)
  assert.equal(isDrained, false)
  answer?.()
  assert.equal((await slow).text, 'slow')
  await drained
})

test('an edge whose event loop was blocked reports for how long, and what it was doing', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('ok'))
  const edge = await edgeProcess(t)
  await publish(edge, { [HOST]: serverTarget(upstream.port) })
  const stalls: Stall[] = []
  edge.onStall((stall) => stalls.push(stall))
  assert.equal((await ask(edge.port)).text, 'ok')
  const pid = edge.pid() ?? 0
  process.kill(pid, 'SIGSTOP')
  await wait(STALL_MS)
  process.kill(pid, 'SIGCONT')
  await until(() => stalls.some(({ ms }) => ms >= STALL_MS / 2))
  assert.ok(stalls.every(({ doing, cpuMs }) => doing !== '' && cpuMs < STALL_MS))
})

test('routes that an edge has confirmed are those that it begins with after its death', async (t) => {
  const edge = await edgeProcess(t)
  for (let round = 0; round < 20; round++) {
    const host = `site-${round}.test`
    await publish(edge, { [host]: { kind: 'empty', environment: 'e1' } })
    const [routes] = await createSavedRoutes(edge.routesFile).load()
    assert.deepEqual(Object.keys(routes?.hosts ?? {}), [host])
  }
})

test('an edge that dies has nothing in flight, and asks for everything when it is restarted', async (t) => {
  let asked = 0
  const upstream = await startUpstream(t, (request, response) => {
    if (request.url === '/never') asked++
    else response.end('ok')
  })
  const edge = await edgeProcess(t)
  await publish(edge, { [HOST]: serverTarget(upstream.port) })
  const broken = ask(edge.port, { path: '/never' }).catch((error) => error.code)
  await until(() => asked === 1)
  const drained = edge.drain('i1', 30_000)
  process.kill(edge.pid() ?? 0, 'SIGKILL')
  await drained
  assert.equal(await broken, 'ECONNRESET')
  await edge.drain('i1', 30_000)
  await until(() => edge.isServing())
  assert.equal((await ask(edge.port)).text, 'ok')
})

test('routes that cannot be saved are used all the same', async (t) => {
  const edge = await edgeProcess(t)
  await publish(edge, {})
  await rm(join(edge.routesFile, '..'), { recursive: true })
  const pid = edge.pid()
  await publish(edge, {})
  await publish(edge, { [HOST]: { kind: 'empty', environment: 'e1' } })
  assert.match((await ask(edge.port)).text, /Nothing deployed yet/)
  assert.equal(edge.pid(), pid)
})

test('an edge that is stopped lets a request end, and leaves new connections to the next process', async (t) => {
  let answer: (() => void) | undefined
  const upstream = await startUpstream(t, (_, response) => {
    answer = () => response.end('ok')
  })
  const edge = await edgeProcess(t)
  await publish(edge, { [HOST]: serverTarget(upstream.port) })
  const slow = ask(edge.port, { headers: { connection: 'keep-alive' } })
  await until(() => answer !== undefined)
  const stopped = edge.stop(60_000)
  // They are answered by this process until it stops to accept. The next one is not, and ends with the socket.
  let last = ask(edge.port, { host: 'unknown' })
  const isAnswered = () =>
    Promise.race([last.then(() => true), new Promise((resolve) => setTimeout(resolve, 500, false))])
  while (await isAnswered()) last = ask(edge.port, { host: 'unknown' })
  answer?.()
  assert.equal((await slow).text, 'ok')
  const refused = assert.rejects(last)
  await stopped
  await refused
})
