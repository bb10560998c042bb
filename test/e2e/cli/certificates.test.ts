/** `headland certificates`, `headland service-certificates` and what the doctor says of them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { NEEDS_PEBBLE, startPebble } from '../../support/certificates/pebble.ts'
import { makeCertificate } from '../../support/edge/tls.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startDns } from '../../support/machine/dns.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { HEADLAND } from '../../support/service/headland.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS, until } from '../../support/until.ts'

/** One command after another would keep a processor busy that the certificates need. */
const BETWEEN_COMMANDS_MS = 500

test('certificates are listed, uploaded, tried again and deleted by commands', NEEDS_PEBBLE, async () => {
  const t = { after }
  const dns = await startDns(t, { 'www.example.com': ['127.0.0.1'] })
  const pebble = await startPebble(t, { dns: dns.address, switches: { PEBBLE_VA_ALWAYS_VALID: '1' } })
  const folder = await temporaryFolder(t)
  const files = { ca: join(folder, 'ca.pem'), chain: join(folder, 'chain.pem'), key: join(folder, 'key.pem') }
  await writeFile(files.ca, pebble.ca)
  const settings = {
    HEADLAND_ACME_EMAIL: 'operator@example.com',
    HEADLAND_ACME_DIRECTORY: pebble.directory,
    HEADLAND_ACME_CA_FILE: files.ca,
    HEADLAND_DOMAIN: 'sites.example.com',
    HEADLAND_PUBLIC_URL: 'https://portal.example.com',
    HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1',
    HEADLAND_DNS_SERVERS: dns.address,
  }
  const service = await startService(t, { settings })
  const as = await service.login('developer')
  const environment = await createEnvironment(service, as)
  const domains = ['www.example.com', 'shop.example.com']
  await service.call(`/v1/${environment.name}/domains:replace`, { method: 'POST', as, body: { domains } })

  async function headland(...args: string[]) {
    const login = { HEADLAND_URL: service.api, HEADLAND_API_USER: as.userId, HEADLAND_API_PASSWORD: as.password }
    const child = spawn(process.execPath, [HEADLAND, ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, ...login },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    child.stdin.end()
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code, stdout, stderr }
  }

  const untilStates = (wanted: Record<string, string>) =>
    until(async () => {
      const { json } = await service.call('/v1/accounts/default/certificates', { as })
      const found: { names: string[]; state: string }[] = json.certificates
      return Object.entries(wanted).every(([name, state]) =>
        found.some((one) => one.names.includes(name) && one.state === state),
      )
    })

  await untilStates({ 'www.example.com': 'ISSUED', 'shop.example.com': 'WAITING_FOR_DNS' })
  const listed = await headland('certificates')
  assert.match(listed.stdout, /www\.example\.com +valid /)
  assert.match(listed.stdout, /shop\.example\.com +waits for DNS/)
  assert.match(listed.stdout, /noAddress: shop\.example\.com has no public address in DNS/)
  assert.match(listed.stderr, /shop\.example\.com: Enter the DNS records/)

  dns.zone.set('shop.example.com', ['127.0.0.1'])
  const retried = await headland('certificates', 'retry', 'shop.example.com')
  assert.equal(retried.code, 0, retried.stderr)
  await untilStates({ 'shop.example.com': 'ISSUED' })
  assert.match((await headland('certificates')).stdout, /shop\.example\.com +valid /)
  assert.equal((await headland('certificates', 'retry', 'shop.example.com')).code, 1, 'there is nothing to try')
  assert.equal((await headland('certificates', 'retry', 'unknown.example.com')).code, 2)

  const { cert, key } = await makeCertificate(t, { names: ['www.example.com'] })
  await writeFile(files.chain, cert)
  await writeFile(files.key, key)
  const uploaded = await headland('certificates', 'upload', 'chain.pem', 'key.pem')
  assert.match(uploaded.stderr, /It is used for www\.example\.com until \d{4}-/)
  const swapped = await headland('certificates', 'upload', 'key.pem', 'chain.pem')
  assert.deepEqual([swapped.code, /chain must be certificates as PEM/.test(swapped.stderr)], [1, true], swapped.stderr)
  assert.equal((await headland('certificates', 'upload', 'missing.pem', 'key.pem')).code, 2)
  assert.match((await headland('certificates')).stdout, /www\.example\.com .*uploaded/)
  assert.equal((await headland('certificates', 'delete', 'www.example.com', '--yes')).code, 0)
  assert.doesNotMatch((await headland('certificates')).stdout, /uploaded/)

  // The portal's own name has no address in DNS.
  const operator = (...args: string[]) => service.operator('service-certificates', ...args)
  const [portal] = JSON.parse(await operator('--json'))
  assert.deepEqual([portal.names, portal.state], [['portal.example.com'], 'WAITING_FOR_DNS'])
  assert.match(await operator(), /portal\.example\.com .*noAddress/)
  const doctor = async () =>
    JSON.parse(await service.operator('doctor', '--json').catch(({ stdout }) => stdout)).find(
      ({ part }: { part: string }) => part === 'certificates',
    )
  const weaker = await doctor()
  assert.deepEqual([weaker.state, /portal\.example\.com has no public address/.test(weaker.found)], ['weaker', true])
  const own = await makeCertificate(t, { names: ['portal.example.com'] })
  await writeFile(files.chain, own.cert)
  await writeFile(files.key, own.key)
  assert.match(await operator('upload', files.chain, files.key), /It is for portal\.example\.com/)
  await until(async () => JSON.parse(await operator('--json')).length === 1, 'the service does not want another one')
  assert.equal((await doctor()).state, 'ok')
  assert.match(await operator('delete', 'portal.example.com'), /Deleted/)
  dns.zone.set('portal.example.com', ['127.0.0.1'])
  await until(async () => {
    await wait(BETWEEN_COMMANDS_MS)
    const [one] = JSON.parse(await operator('--json'))
    return one?.state === 'ISSUED'
  })
})
