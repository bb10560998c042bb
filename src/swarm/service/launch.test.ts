import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import { LAUNCH, portText, variableParts } from './launch.ts'

const SERVER = `
const server = require('node:net').createServer((socket) => socket.on('data', () => socket.write('answer')))
server.listen(Number(process.env.PORT), '0.0.0.0', () => console.log('listens', server.address().port))
process.on('SIGTERM', () => { console.log('told to end'); process.exit(7) })`

/** A program under the first process, which asks for the connections of the port. */
async function start(t: TestContext, program: string, port = 3000) {
  const file = join(await temporaryFolder(t), 'headland')
  await writeFile(file, variableParts({ PORT: String(port) })[0] ?? '')
  const args = ['-c', LAUNCH, file, portText(port), '--', process.execPath, '-e', program]
  const child = spawn('/bin/sh', args, { env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (text) => {
    output += text
  })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { child, output: () => output, exitCode: async () => (await exited)[0] as number }
}

async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}

test('the exit code of an app is that of its first process', async (t) => {
  assert.equal(await (await start(t, 'process.exit(42)')).exitCode(), 42)
  assert.equal(await (await start(t, "process.kill(process.pid, 'SIGKILL')")).exitCode(), 137)
})

test('an app is told to end when its connections are closed, and serves them until then', async (t) => {
  const port = await freePort()
  const app = await start(t, SERVER, port)
  await until(() => app.output().includes('listens'), 'it listens')
  // Not the address that the app itself would come from.
  const visitor = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
  await once(visitor, 'connect')
  app.child.kill('SIGTERM')
  for (let turn = 0; turn < 16; turn++) {
    visitor.write('?')
    assert.equal(String((await once(visitor, 'data'))[0]), 'answer')
    await sleep(200)
  }
  assert.doesNotMatch(app.output(), /told/)
  visitor.end()
  assert.equal(await app.exitCode(), 7)
  assert.match(app.output(), /told to end/)
})

test('connections of an app to itself do not keep it', async (t) => {
  const port = await freePort()
  const own = `server.once('listening', () => require('node:net').connect({ port: server.address().port, host: '127.0.0.1' }))`
  const app = await start(t, `${SERVER}\n${own}`, port)
  await until(() => app.output().includes('listens'), 'it listens')
  app.child.kill('SIGTERM')
  assert.equal(await app.exitCode(), 7)
})
