import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ownAddresses, versions } from './doctor.ts'

async function startServer(t: TestContext, body: string): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/metrics' ? 200 : 404
    response.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const METRICS = '# HELP headland_edge_serving 1\nheadland_edge_serving 1\n'
const info = (version: string) => `${METRICS}headland_build_info{version="${version}"} 1\n`
const RESTART = /^Restart the service/
const OTHER_COMMAND = /^Use the command that was installed with the service/

for (const [what, body, found, advice] of [
  ['the same version', info('1.2.3'), /^1\.2\.3, which the service at http:\S+ runs too$/, /^$/],
  ['an older version', info('1.2.2'), /^1\.2\.3 on the disk; the service at http:\S+ runs 1\.2\.2$/, RESTART],
  ['a service that does not report its version', METRICS, /runs one that does not report its version$/, RESTART],
  ['a newer version', info('1.10.0'), /runs 1\.10\.0$/, OTHER_COMMAND],
  ['no version at all', info('latest'), /runs latest$/, OTHER_COMMAND],
  ['another program', 'hello', /^1\.2\.3; no service answers/, /^$/],
  ['a response that is too large', 'x'.repeat(5 * 1024 * 1024), /^1\.2\.3; no service answers/, /^$/],
] as const) {
  test(`doctor finds ${what} at the address of the service`, async (t) => {
    const finding = await versions({ version: '1.2.3', service: await startServer(t, body) })
    assert.match(finding.found, found)
    assert.match(finding.advice, advice)
    assert.equal(finding.state === 'ok', finding.advice === '')
  })
}

test('doctor does without a service', async () => {
  for (const service of [undefined, 'http://127.0.0.1:1'])
    assert.equal((await versions({ version: '1.2.3', service })).state, 'ok')
})

for (const [what, given, state] of [
  ['with networks of their own', { problem: undefined, domain: 'localhost', isResolved: false }, 'ok'],
  ['on a machine that resolves *.localhost', { problem: 'no root', domain: 'localhost', isResolved: true }, 'ok'],
  ['on one that does not', { problem: 'no root', domain: 'apps.localhost', isResolved: false }, 'weaker'],
  ['under a domain of DNS', { problem: 'no root', domain: 'example.org', isResolved: false }, 'ok'],
] as const) {
  test(`doctor says whether apps reach their own addresses ${what}`, async () => {
    const { problem, domain, isResolved } = given
    const asked: string[] = []
    const resolves = async (name: string) => {
      asked.push(name)
      return isResolved
    }
    const finding = await ownAddresses({ problem: Promise.resolve(problem), domain, resolves })
    assert.equal(finding.state, state)
    assert.equal(finding.advice !== '', state === 'weaker')
    for (const name of asked) assert.ok(name.endsWith(`.${domain}`))
  })
}
