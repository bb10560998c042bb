import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { listeningPorts } from './listening-ports.ts'

type Started = { pid: number; output: string; ended: Promise<unknown> }

/** A process that runs the source and then says so, and that ends with the test. */
async function started(t: { after(end: () => unknown): void }, source: string): Promise<Started> {
  const child = spawn(process.execPath, ['-e', source], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const [output] = await once(child.stdout, 'data')
  return { pid: child.pid as number, output: String(output).trim(), ended: once(child, 'exit') }
}

const LISTENS = `
  const server = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))
  process.stdin.resume()
`

test('the port on which a process listens is found', async (t) => {
  const { pid, output } = await started(t, LISTENS)
  assert.deepEqual(await listeningPorts([pid]), [Number(output)])
})

test('of a process that listens on very many ports a few are returned', async (t) => {
  const { pid } = await started(
    t,
    `
    const { createServer } = require('node:net')
    let left = 100
    for (let i = 0; i < 100; i++) createServer().listen(0, '127.0.0.1', () => --left === 0 && console.log('all'))
    process.stdin.resume()
  `,
  )
  assert.equal((await listeningPorts([pid])).length, 8)
})

test('of a process with very many open files only the first ones are looked at, and the event loop turns meanwhile', async (t) => {
  const { pid } = await started(
    t,
    `
    for (let i = 0; i < 5000; i++) require('node:fs').openSync('/dev/null')
    const server = require('node:net').createServer().listen(0, '127.0.0.1', () => console.log(server.address().port))
    process.stdin.resume()
  `,
  )
  let turns = 0
  const turning = setInterval(() => turns++, 0)
  t.after(() => clearInterval(turning))
  // The socket comes after 5,000 files, which is beyond the limit.
  assert.deepEqual(await listeningPorts([pid]), [])
  assert.ok(turns > 0)
})

test('a process that is gone listens nowhere', async (t) => {
  const { pid, ended } = await started(t, LISTENS)
  process.kill(pid, 'SIGKILL')
  await ended
  assert.deepEqual(await listeningPorts([pid]), [])
})
