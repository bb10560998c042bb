/** The rules of a node in a real kernel: that they are there is read back, and what another program changes is restored. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { NodeRules } from '../../../src/nodes/index.ts'
import { ISOLATION_TABLE } from '../../../src/swarm/index.ts'
import { until } from '../../support/until.ts'

const skip = process.getuid?.() === 0 ? false : 'root changes the firewall'
const PROGRAM = fileURLToPath(new URL('../../support/machine/firewall-process.ts', import.meta.url))

const rulesOf = (revision: number, edge = '10.0.0.1'): NodeRules => ({
  revision,
  isolation: {
    edges: [edge],
    blocked: ['203.0.113.4'],
    allowed: [{ address: '10.0.0.5', port: 443 }],
    resolvers: ['9.9.9.9'],
  },
})

async function startFirewall(t: TestContext) {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--net', process.execPath, PROGRAM], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'message')
  let changes = 0
  const answers: { value?: number | null; error?: string }[] = []
  child.on('message', (message: { changed?: true }) => {
    if (message.changed) changes += 1
    else answers.push(message as object)
  })
  const call = async (message: object) => {
    child.send(message)
    const { value, error } = await until(() => answers.shift())
    if (error !== undefined) throw new Error(error)
    return value
  }
  /** As any program of the machine with root does. */
  const nft = async (...words: string[]) =>
    (await promisify(execFile)('nsenter', [`--net=/proc/${child.pid}/ns/net`, 'nft', ...words])).stdout
  return {
    nft,
    table: () => nft('list', 'table', 'inet', ISOLATION_TABLE),
    changes: () => changes,
    use: (rules: object) => call({ call: 'use', rules }),
    check: () => call({ call: 'check' }),
  }
}

test('rules are in the kernel when they are used, and others replace them', { skip }, async (t) => {
  const firewall = await startFirewall(t)
  assert.equal(await firewall.check(), null, 'there are none before')
  await firewall.use(rulesOf(1))
  assert.match(await firewall.table(), /set edges \{[^}]*10\.0\.0\.1/)
  assert.equal(await firewall.check(), 1)
  await firewall.use(rulesOf(2, '10.0.0.2'))
  assert.doesNotMatch(await firewall.table(), /10\.0\.0\.1\b/)
  assert.equal(await firewall.check(), 2)
})

const TAMPERING: Record<string, string[]> = {
  'flushes everything': ['flush ruleset'],
  'deletes the table': [`delete table inet ${ISOLATION_TABLE}`],
  'empties a chain': [`flush chain inet ${ISOLATION_TABLE} to_app`],
  'adds a rule in front': [`insert rule inet ${ISOLATION_TABLE} from_app accept`],
  'lets another address in': [`add element inet ${ISOLATION_TABLE} edges { 198.51.100.9 }`],
  'takes a range out': [`delete element inet ${ISOLATION_TABLE} blocked { 169.254.0.0/16 }`],
  'switches the table off': [`add table inet ${ISOLATION_TABLE} { flags dormant; }`],
  'puts a table of the same name in its place': [
    `delete table inet ${ISOLATION_TABLE}`,
    `add table inet ${ISOLATION_TABLE}`,
  ],
}

for (const [what, commands] of Object.entries(TAMPERING)) {
  test(`rules are restored where another program ${what}`, { skip }, async (t) => {
    const firewall = await startFirewall(t)
    await firewall.use(rulesOf(1))
    const before = await firewall.table()
    assert.equal(await firewall.check(), 1)
    const seen = firewall.changes()
    for (const command of commands) await firewall.nft(command)
    await until(() => firewall.changes() > seen, 'the change is noticed at once')
    assert.equal(await firewall.check(), 1)
    assert.equal(await firewall.table(), before)
  })
}

test('connections that the kernel counts, and tables of other programs, are no change', { skip }, async (t) => {
  const firewall = await startFirewall(t)
  await firewall.use(rulesOf(1))
  await firewall.nft(`add element inet ${ISOLATION_TABLE} connected { 10.211.0.2 ct count over 2000 }`)
  await firewall.nft('add table inet others')
  assert.equal(await firewall.check(), 1)
  assert.match(await firewall.table(), /10\.211\.0\.2/, 'they are not loaded again')
})

test('rules that cannot be loaded leave the ones before', { skip }, async (t) => {
  const firewall = await startFirewall(t)
  await firewall.use(rulesOf(1))
  await assert.rejects(firewall.use(rulesOf(2, 'no address')), /no IPv4 address/)
  assert.equal(await firewall.check(), 1)
  assert.match(await firewall.table(), /10\.0\.0\.1/)
})
