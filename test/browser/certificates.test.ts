/** Certificates in the portal: what the service gets, why one is missing, and an upload. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { NEEDS_PEBBLE, startPebble } from '../support/certificates/pebble.ts'
import { makeCertificate } from '../support/edge/tls.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startDns } from '../support/machine/dns.ts'
import { createEnvironment } from '../support/service/environment.ts'
import {
  assertAccessible,
  assertAccessibleInBoth,
  assertFits,
  assertQuiet,
  logIn,
  ownerOf,
  startBrowser,
  startService,
} from './portal.ts'

test('the portal shows certificates, why one is missing, and takes an upload', NEEDS_PEBBLE, async (t) => {
  const dns = await startDns(t, { 'www.example.com': ['127.0.0.1'], 'away.example.com': ['198.51.100.7'] })
  const pebble = await startPebble(t, { dns: dns.address, switches: { PEBBLE_VA_ALWAYS_VALID: '1' } })
  const caFile = join(await temporaryFolder(t), 'ca.pem')
  await writeFile(caFile, pebble.ca)
  const service = await startService(t, {
    settings: {
      HEADLAND_ACME_EMAIL: 'operator@example.com',
      HEADLAND_ACME_DIRECTORY: pebble.directory,
      HEADLAND_ACME_CA_FILE: caFile,
      HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1',
      HEADLAND_DNS_SERVERS: dns.address,
    },
  })
  const as = await service.login('owner')
  const environment = await createEnvironment(service, as)
  const browser = await startBrowser(t, service)
  const page = await browser.open()
  await logIn(page, ownerOf(service), '/default/certificates')
  await page.getByText('No certificates yet').waitFor()
  await assertAccessible(page, 'no certificates')

  const domains = ['www.example.com', 'away.example.com']
  const path = `/v1/${environment.name}/domains:replace`
  assert.equal((await service.call(path, { method: 'POST', as, body: { domains } })).status, 200)
  const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
  await row('www.example.com').getByText('Valid').waitFor()
  await row('away.example.com').getByText('Waiting for DNS').waitFor()
  await row('away.example.com')
    .getByText(/leads elsewhere: 198\.51\.100\.7/)
    .waitFor()
  await assertAccessibleInBoth(page, 'certificates')
  await assertFits(page, 'certificates')

  dns.zone.set('away.example.com', ['127.0.0.1'])
  await row('away.example.com').getByRole('button', { name: 'Try away.example.com again' }).click()
  await row('away.example.com').getByText('Valid').waitFor()

  await page.getByRole('button', { name: 'Upload certificate' }).click()
  const form = page.getByRole('dialog')
  const { cert, key } = await makeCertificate(t, { names: ['www.example.com'] })
  await form.getByRole('textbox', { name: 'Certificate' }).fill(cert)
  await form.getByLabel('Private key').fill('no key')
  await form.getByRole('button', { name: 'Upload' }).click()
  await form.getByText(/must be one private key as PEM/).waitFor()
  await assertAccessible(page, 'a refused upload')
  await form.getByLabel('Private key').fill(key)
  await form.getByRole('button', { name: 'Upload' }).click()
  await form.waitFor({ state: 'detached' })
  await row('www.example.com')
    .getByText(/Uploaded/)
    .waitFor()
  assert.ok(!(await page.content()).includes('PRIVATE KEY'))

  await row('www.example.com')
    .getByRole('button', { name: /^Delete/ })
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete certificate' }).click()
  await row('www.example.com')
    .getByText(/By the service/)
    .waitFor()
  assertQuiet(page)

  const phone = await browser.open({ size: 'phone' })
  await logIn(phone, ownerOf(service), '/default/certificates')
  await phone.getByText('www.example.com').first().waitFor()
  await assertFits(phone, 'certificates on a phone')
})
