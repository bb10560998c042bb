/** The certificate for the hosts of all environments, by DNS-01 and a command of the operator. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runDnsHook } from '../../src/certificates/issuing/dns-hook.ts'
import { startCertificates } from '../support/certificates/open.ts'
import { NEEDS_PEBBLE } from '../support/certificates/pebble.ts'
import { temporaryFolder } from '../support/folder.ts'

/** A command that passes its arguments to the test, as one for a DNS provider does to its API, and writes them to a file. */
async function startHook(t: TestContext) {
  const folder = await temporaryFolder(t)
  const calls: string[][] = []
  let onCall: (call: string[]) => void = () => undefined
  let status = 200
  const provider = createServer((request, response) => {
    const call: string[] = JSON.parse(decodeURIComponent(request.url?.slice(1) ?? ''))
    calls.push(call)
    onCall(call)
    response.writeHead(status).end()
  })
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  t.after(() => provider.close())
  const script = join(folder, 'hook.mjs')
  await writeFile(
    script,
    `const call = process.argv.slice(2)
    const { status } = await fetch('http://127.0.0.1:${(provider.address() as AddressInfo).port}/' + encodeURIComponent(JSON.stringify(call)))
    if (status !== 200) { console.error('the provider answers with ' + status); process.exitCode = 3 }`,
  )
  return {
    folder,
    calls,
    hook: { command: [process.execPath, script, '--zone', 'a b; $(id)'] as const, env: {}, timeoutMs: 60_000 },
    setOnCall(given: typeof onCall) {
      onCall = given
    },
    setStatus(given: number) {
      status = given
    },
  }
}

test(
  'the wildcard is got by a command that adds and removes a record, and covers all environments',
  NEEDS_PEBBLE,
  async (t) => {
    const { hook, calls, setOnCall, setStatus } = await startHook(t)
    const on = await startCertificates(t, { acme: { dnsHook: hook } })
    setOnCall(([, , action, name = '', value = '']) => {
      if (action === 'add') on.dns.texts.set(name, [...(on.dns.texts.get(name) ?? []), value])
      else on.dns.texts.delete(name)
    })
    const { id } = await on.accounts.create('one')
    on.addSite(id, [], 'one')
    on.addSite(id, ['www.example.com'], 'two')
    setStatus(500)
    await on.round()
    const failed = await on.stateOf('*.sites.example.com')
    assert.deepEqual([failed.state, failed.failure?.type], ['FAILED', 'dnsHook'])
    assert.match(failed.failure?.detail ?? '', /ended with exit code 3: the provider answers with 500/)
    assert.equal((await on.stateOf('www.example.com')).state, 'ISSUED')
    setStatus(200)
    calls.length = 0
    on.clock.move(10 * 60_000)
    await on.round()
    const issued = await on.stateOf('*.sites.example.com')
    assert.deepEqual([issued.state, issued.accountId, issued.dnsRecord], ['ISSUED', null, null])
    const names = on.edge.certificates().map(({ names }) => names)
    assert.deepEqual(names.toSorted(), [['*.sites.example.com'], ['www.example.com']])
    const [removedOld, added, removed] = calls
    assert.deepEqual(
      calls.map((call) => call[2]),
      ['remove', 'add', 'remove'],
      'what the failed attempt recorded is removed first',
    )
    assert.equal(removedOld?.[3], '_acme-challenge.sites.example.com')
    assert.deepEqual(added?.slice(0, 4), ['--zone', 'a b; $(id)', 'add', '_acme-challenge.sites.example.com'])
    assert.match(added?.[4] ?? '', /^[\w-]{43}$/)
    assert.deepEqual(removed?.slice(3), added?.slice(3))
    assert.equal(on.dns.texts.size, 0)
  },
)

test('a command of the operator that never ends is ended, with what it has started', async (t) => {
  const folder = await temporaryFolder(t)
  const script = `process.stdout.write('waiting for the zone'); require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'pid'))}, String(process.pid)); setInterval(() => {}, 1000)`
  const hook = { command: [process.execPath, '-e', script] as const, env: {}, timeoutMs: 3000 }
  await assert.rejects(
    runDnsHook(hook, { action: 'add', name: '_acme-challenge.example.com', value: 'v' }),
    /add _acme-challenge\.example\.com: did not end within 3 seconds: waiting for the zone/,
  )
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
  assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

test('a command that is not there is reported', async () => {
  const hook = { command: ['/nowhere/hook'] as const, env: {}, timeoutMs: 3000 }
  await assert.rejects(runDnsHook(hook, { action: 'add', name: 'n', value: 'v' }), /cannot be started: .*ENOENT/)
})
