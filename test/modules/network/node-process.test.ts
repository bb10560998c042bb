/** The role `node` before anything answers: neither Docker nor a control process is there. In a network of its own. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { joinToken } from '../../../src/channel/index.ts'
import { ISOLATION_TABLE } from '../../../src/swarm/index.ts'
import { temporaryFolder } from '../../support/folder.ts'

const skip = process.getuid?.() === 0 ? false : 'root changes the firewall'
const HEADLAND = fileURLToPath(new URL('../../../bin/headland.js', import.meta.url))

/** Resolves to the table that it has put into the kernel when it is ready. */
async function startRole(t: TestContext, dataDir: string): Promise<string> {
  const command = ['--pdeathsig', 'KILL', 'unshare', '--net', process.execPath, '--', HEADLAND, 'serve']
  const role = spawn('setpriv', command, {
    env: {
      PATH: process.env.PATH,
      HEADLAND_DATA_DIR: dataDir,
      HEADLAND_ROLES: 'node',
      HEADLAND_CONTROL_ADDRESSES: '127.0.0.1:1',
      HEADLAND_CLUSTER_TOKEN: joinToken('key', { role: 'node', name: 'a' }),
      HEADLAND_DOCKER_SOCKET: join(dataDir, 'no.sock'),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(role, 'exit')
  t.after(async () => {
    role.kill('SIGKILL')
    await exited
  })
  await Promise.race([once(role.stdout, 'data'), exited.then(() => assert.fail('it ended'))])
  const words = [`--net=/proc/${role.pid}/ns/net`, 'nft', 'list', 'table', 'inet', ISOLATION_TABLE]
  return (await promisify(execFile)('nsenter', words)).stdout
}

test('a node that knows no rules yet lets no address call apps', { skip }, async (t) => {
  const table = await startRole(t, await temporaryFolder(t))
  assert.match(table, /set edges \{[^}=]*\}/)
  assert.match(table, /169\.254\.0\.0\/16/)
})

test('a node begins with the rules of last time', { skip }, async (t) => {
  const dataDir = await temporaryFolder(t)
  const isolation = { edges: ['10.0.0.1'], blocked: [], allowed: [], resolvers: [] }
  await writeFile(join(dataDir, 'node-rules.json'), JSON.stringify({ revision: 3, isolation }))
  assert.match(await startRole(t, dataDir), /set edges \{[^}]*10\.0\.0\.1/)
})

test('rules on the disk that are no rules are not used', { skip }, async (t) => {
  const dataDir = await temporaryFolder(t)
  const isolation = { edges: ['10.0.0.1; }'], blocked: [], allowed: [], resolvers: [] }
  await writeFile(join(dataDir, 'node-rules.json'), JSON.stringify({ revision: 3, isolation }))
  assert.match(await startRole(t, dataDir), /set edges \{[^}=]*\}/)
})
