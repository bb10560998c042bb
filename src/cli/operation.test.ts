/** An operation is followed to its end, whatever happens to the connection. */

import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Operation } from '../client/index.ts'
import { EXIT, operationError, Problem } from '../contract/index.ts'
import { CallFailed } from './connection/failures.ts'
import { createService } from './connection/service.ts'
import { failureIn, finish } from './operation.ts'

const asked = { name: 'accounts/a/apps/b/environments/c/operations/d', done: false } as Operation

type Step = (response: ServerResponse) => void

const answers =
  (operation: Partial<Operation>): Step =>
  (response) =>
    response.end(JSON.stringify({ ...asked, ...operation }))
const drops: Step = (response) => response.destroy()
const stopping: Step = (response) => response.writeHead(503, { 'retry-after': '0' }).end()

/** Answers each call with the next step. */
async function serviceOf(t: TestContext, steps: Step[]) {
  const calls: string[] = []
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`)
    steps.shift()?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { service: createService(`http://127.0.0.1:${port}`, undefined), calls }
}

test('a connection that drops and a service that starts anew are waited for', async (t) => {
  const steps = [drops, stopping, answers({}), answers({ done: true, response: { url: 'x' } })]
  const { service, calls } = await serviceOf(t, steps)
  const done = await finish(service, asked)
  assert.deepEqual(done.response, { url: 'x' })
  assert.deepEqual(new Set(calls), new Set([`POST /v1/${asked.name}:wait?timeout=20s`]))
  assert.equal(calls.length, 4)
})

test('what is done is not asked about again', async (t) => {
  const { service, calls } = await serviceOf(t, [])
  const done = { ...asked, done: true, response: {} }
  assert.equal(await finish(service, done), done)
  assert.deepEqual(calls, [])
})

test('every state in between is passed on, so that a phase can be shown', async (t) => {
  const phase = (name: string) => ({ metadata: { phase: name } }) as Partial<Operation>
  const { service } = await serviceOf(t, [answers(phase('BUILDING')), answers({ done: true })])
  const seen: unknown[] = []
  await finish(service, { ...asked, ...phase('QUEUED') }, ({ metadata }) => seen.push(metadata.phase))
  assert.deepEqual(seen, ['QUEUED', 'BUILDING'])
})

test('an answer that speaks of the operation ends the wait: it is gone, or not ours to see', async (t) => {
  const { service } = await serviceOf(t, [(response) => response.writeHead(404).end()])
  await assert.rejects(finish(service, asked), (error: CallFailed) => error.exitCode === EXIT.caller)
})

test('waiting ends when its signal is aborted', async (t) => {
  const stop = new AbortController()
  const { service } = await serviceOf(t, [() => stop.abort()])
  await assert.rejects(finish(service, asked, undefined, stop.signal), { name: 'AbortError' })
})

test('a failed operation is thrown with its reason, and the exit code says whose fault it is', async (t) => {
  const error = operationError(new Problem('BUILD_SCRIPT_FAILED', 'It ended with 3.'))
  const { service } = await serviceOf(t, [answers({ done: true, error })])
  await assert.rejects(finish(service, asked), (failed: CallFailed) => {
    assert.deepEqual([failed.reason, failed.message, failed.exitCode], ['BUILD_SCRIPT_FAILED', 'It ended with 3.', 1])
    return failed instanceof CallFailed
  })
})

test('a reason that is newer than this client still says by its code whose fault it is', () => {
  const failed = (code: number) => failureIn({ error: { code, message: 'x', details: [{ reason: 'NEW_ONE' }] } })
  assert.deepEqual([failed(13).exitCode, failed(14).exitCode], [EXIT.service, EXIT.service])
  assert.deepEqual([failed(9).exitCode, failed(9).reason], [EXIT.caller, 'NEW_ONE'])
})
