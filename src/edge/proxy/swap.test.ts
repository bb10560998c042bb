import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import {
  ask,
  connectionsOf,
  HOST,
  readAnswer,
  serverTarget,
  startTestEdge,
  startUpstream,
} from '../../../test/support/edge/edge.ts'
import { rounds } from '../../../test/support/long.ts'
import { until } from '../../../test/support/until.ts'

const SWAPS = rounds({ short: 60, long: 200 })
const VISITORS = 8

test(`${SWAPS} swaps between two applications under load lose no request, and a drained one gets none`, async (t) => {
  const late: string[] = []
  /** Which instance each application is now; undefined from when it was drained until it is used again. */
  const current: (string | undefined)[] = [undefined, undefined]
  const served = [0, 0]
  const upstreams = await Promise.all(
    [0, 1].map((side) =>
      startUpstream(t, async (asked, response) => {
        served[side] = (served[side] ?? 0) + 1
        if (current[side] === undefined) late.push(asked.url ?? '')
        // Now and then an answer takes its time, so that there is something to drain.
        if (asked.url?.endsWith('7')) await new Promise((resolve) => setTimeout(resolve, 5))
        response.write('whole ')
        response.end(await text(asked))
      }),
    ),
  )

  const edge = await startTestEdge(t, {})
  function use(swap: number): string {
    const side = swap % 2
    const instance = `i${swap}`
    current[side] = instance
    edge.use({ [HOST]: serverTarget(upstreams[side]?.port ?? 0, instance) })
    return instance
  }

  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  let isOver = false
  let answered = 0
  const failures: string[] = []
  async function visit(visitor: number) {
    for (let n = 0; !isOver; n++) {
      const method = n % 3 === 0 ? 'POST' : 'GET'
      const body = method === 'POST' ? `${visitor}-${n}` : ''
      const sent = request({
        host: '127.0.0.1',
        port: edge.port,
        agent,
        method,
        path: `/${n}`,
        headers: { host: HOST },
      })
      sent.end(body)
      const answer = await readAnswer(sent).catch((error) => ({ status: 0, text: String(error) }))
      if (answer.status !== 200 || answer.text !== `whole ${body}`) failures.push(`${answer.status} ${answer.text}`)
      answered++
    }
  }

  let live = use(0)
  const visitors = Array.from({ length: VISITORS }, (_, visitor) => visit(visitor))
  for (let swap = 1; swap <= SWAPS; swap++) {
    const before = answered
    await until(() => answered > before)
    const old = live
    live = use(swap)
    await edge.drain(old, 30_000)
    current[(swap - 1) % 2] = undefined
  }
  isOver = true
  await Promise.all(visitors)

  assert.deepEqual(failures, [])
  assert.deepEqual(late, [], 'a drained application was asked again')
  assert.ok(answered > SWAPS && served.every((count) => count > SWAPS / 4), `${answered} answers, ${served} served`)
  assert.deepEqual(edge.troubles, [])
})

test('what began before a swap ends where it began, and what comes after it goes to the new one', async (t) => {
  let answerOld: (() => void) | undefined
  const old = await startUpstream(t, (_, response) => {
    response.write('old ')
    answerOld = () => response.end('to the end')
  })
  const next = await startUpstream(t, (_, response) => response.end('new'))
  const edge = await startTestEdge(t, { [HOST]: serverTarget(old.port, 'old') })
  const slow = ask(edge.port)
  await until(() => answerOld !== undefined)
  edge.use({ [HOST]: serverTarget(next.port, 'new') })
  assert.equal((await ask(edge.port)).text, 'new')
  let isDrained = false
  const drained = edge.drain('old', 30_000).then(() => {
    isDrained = true
  })
  await edge.drain('new', 30_000)
  await edge.drain('unknown', 30_000)
  assert.equal(isDrained, false)
  answerOld?.()
  assert.equal((await slow).text, 'old to the end')
  await drained
})

test('after the grace, what is left of an instance is broken off, and nothing else', async (t) => {
  const stuck = await startUpstream(t, (_, response) => void response.write('half'))
  const other = await startUpstream(t, (_, response) => void response.write('half'))
  const edge = await startTestEdge(t, {
    [HOST]: serverTarget(stuck.port, 'stuck'),
    'other.localhost': serverTarget(other.port, 'other', 'd2'),
  })
  const broken = assert.rejects(ask(edge.port), { code: 'ECONNRESET' })
  const kept = ask(edge.port, { host: 'other.localhost' })
  const counts: Record<string, number> = {}
  await until(() => {
    Object.assign(counts, edge.takeActivity())
    return Object.keys(counts).length === 2
  })
  edge.use({ 'other.localhost': serverTarget(other.port, 'other', 'd2') })
  await edge.drain('stuck', 20)
  await broken
  assert.deepEqual(edge.takeActivity(), { d2: 1 })
  other.http.closeAllConnections()
  await assert.rejects(kept)
})

test('idle connections to an instance that left the table are closed, so that it can end', async (t) => {
  const upstream = await startUpstream(t, (_, response) => response.end('ok'))
  const edge = await startTestEdge(t, { [HOST]: serverTarget(upstream.port) })
  await Promise.all(Array.from({ length: 5 }, () => ask(edge.port)))
  edge.use({ [HOST]: { kind: 'empty', environment: 'e1' } })
  while ((await connectionsOf(upstream.http)) > 0) await new Promise((resolve) => setImmediate(resolve))
})
