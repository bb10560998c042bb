/** What programs that look for weaknesses say of the edge: OpenSSL's own client, and testssl.sh. */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Ca, startCa } from '../../support/certificates/ca.ts'
import { freePort } from '../../support/certificates/pebble.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isLong } from '../../support/long.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const NAME = 'www.example.com'

/** A site under a certificate of its own, which asks for stapling. */
async function secureSite(t: TestContext): Promise<{ port: number; ca: Ca }> {
  const ca = await startCa(t)
  const port = await freePort()
  const service = await startService(t, {
    settings: {
      HEADLAND_TLS_LISTEN: `127.0.0.1:${port}`,
      HEADLAND_HSTS: String(365 * 24 * 3600),
      HEADLAND_ALLOWED_NETWORKS: `127.0.0.1:${ca.port}`,
    },
  })
  const as = await service.login()
  const { name } = await createEnvironment(service, as)
  assert.equal((await deploy(service, as, name, page('hello'))).error, undefined)
  const { cert, key } = await ca.issue([NAME])
  const body = { chain: cert, privateKey: key }
  for (const [path, given] of [
    [`${name}/domains:replace`, { domains: [NAME] }],
    ['accounts/default/certificates', body],
  ] as const) {
    const answer = await service.call(`/v1/${path}`, { method: 'POST', as, body: given })
    assert.equal(answer.status, 200, answer.text)
  }
  return { port, ca }
}

function run(file: string, args: readonly string[], cwd?: string): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(file, args, { cwd, maxBuffer: 1 << 24 }, (_, stdout, stderr) => resolve(stdout + stderr))
    child.stdin?.end()
  })
}

test('OpenSSL accepts the certificate with the answer of OCSP that comes with it', async (t) => {
  const { port, ca } = await secureSite(t)
  const options = ['-status', '-CAfile', ca.certFile, '-verify_return_error', '-servername', NAME]
  const connect = () => run('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...options])
  const text = await until(async () => {
    const found = await connect()
    return found.includes('OCSP Response Status: successful') ? found : undefined
  }, 'the answer is stapled')
  assert.match(text, /Cert Status: good/)
  assert.match(text, /Verify return code: 0 \(ok\)/)
})

const hasTestssl = (() => {
  try {
    execFileSync('testssl', ['--version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
})()
const skip = !isLong
  ? 'takes minutes: npm run test:long'
  : !hasTestssl && 'needs Debian\'s package "testssl.sh": apt-get install testssl.sh'

type Finding = { id: string; severity: string; finding: string }

test('testssl.sh finds nothing above LOW', { skip }, async (t) => {
  const { port, ca } = await secureSite(t)
  const folder = await temporaryFolder(t)
  const file = join(folder, 'findings.json')
  const quiet = ['--quiet', '--color', '0', '--warnings', 'off', '--nodns', 'none']
  const where = ['--ip', '127.0.0.1', '--add-ca', ca.certFile, `https://${NAME}:${port}/`]
  const text = await run('testssl', [...quiet, '--jsonfile', file, ...where], folder)
  const findings: Finding[] = JSON.parse(await readFile(file, 'utf8'))
  assert.ok(findings.length > 100, text)
  t.diagnostic(
    `${findings.length} findings, LOW: ${findings.filter(({ severity }) => severity === 'LOW').map(({ id }) => id)}`,
  )
  // A WARN is about testssl.sh itself, as where its OpenSSL is too new for a check.
  const isBad = ({ severity }: Finding) => ['MEDIUM', 'HIGH', 'CRITICAL'].includes(severity)
  assert.deepEqual(findings.filter(isBad), [])
})
