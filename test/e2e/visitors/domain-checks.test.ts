/** Where custom domains lead, which certificate they have and to which other name they redirect, on the real service. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { HAS_OPENSSL, makeCertificate, startTls } from '../../support/edge/tls.ts'
import { startDns } from '../../support/machine/dns.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

const [APEX, WWW, LOST] = ['example.com', 'www.example.com', 'lost.example.com']
const dns = await startDns({ after }, { [APEX]: ['127.0.0.1'], [WWW]: ['127.0.0.1'], [LOST]: ['198.51.100.7'] })
const proxy = HAS_OPENSSL ? await startTls({ after }, await makeCertificate({ after }, { names: [WWW] })) : undefined
const service = await startService(
  { after },
  {
    settings: {
      HEADLAND_DOMAIN: 'sites.example.net',
      HEADLAND_EDGE_URL: `https://sites.example.net:${proxy?.port ?? 1}`,
      HEADLAND_PUBLIC_ADDRESSES: '127.0.0.1',
      HEADLAND_DNS_SERVERS: dns.address,
    },
  },
)
const [owner, viewer] = await Promise.all([service.login('owner'), service.login('viewer')])
const site = await createEnvironment(service, owner)
await deploy(service, owner, site.name, page('the site'))

const replace = (body: unknown) => service.call(`/v1/${site.name}/domains:replace`, { method: 'POST', as: owner, body })

test('a domain redirects to its sibling with path and query, and every name is seen in the list', async () => {
  const made = await replace({ domains: [APEX, WWW], redirects: [{ domain: APEX, to: WWW }] })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(made.json.redirects, [{ domain: APEX, to: WWW }])
  const { status, headers } = await siteAnswer(service, `http://${APEX}`, '/a/b?c=d&e')
  assert.deepEqual([status, headers.location], [308, `//${WWW}/a/b?c=d&e`])
  assert.match((await siteAnswer(service, `http://${WWW}`)).text, /the site/)
  assert.equal((await service.call(`/v1/domains:allowed?domain=${APEX}`)).status, 200, 'it needs a certificate, too')
  const { json } = await service.call(`/v1/${site.name}/domains`, { as: viewer })
  assert.deepEqual([json.domains, json.redirects], [[APEX, WWW], made.json.redirects])

  const loop = await replace({
    domains: [APEX, WWW],
    redirects: [
      { domain: APEX, to: WWW },
      { domain: WWW, to: APEX },
    ],
  })
  assert.equal(loop.reason, 'FIELD_INVALID')
  assert.match(loop.text, /redirects\[0\]\.to www\.example\.com redirects itself/)
  const stale = await replace({ domains: [APEX, WWW], redirects: [], etag: 'W/"other"' })
  assert.equal(stale.reason, 'ETAG_MISMATCH')

  await deploy(service, owner, site.name, page('another site'))
  assert.equal((await siteAnswer(service, `http://${APEX}`)).status, 308, 'a deployment does not change it')
})

test('DNS and certificates of the domains are reported, with the records to enter', { skip: !proxy }, async () => {
  await replace({ domains: [APEX, WWW, LOST, 'absent.example.com'] })
  const { json, status, text } = await service.call(`/v1/${site.name}/domains:check?fresh=true`, { as: viewer })
  assert.equal(status, 200, text)
  const found = Object.fromEntries(
    json.checks.map(({ domain, dns: { state }, certificate }: resources.DomainCheck) => [
      domain,
      [state, certificate.state],
    ]),
  )
  assert.deepEqual(found, {
    [APEX]: ['HERE', 'WRONG_NAME'],
    [WWW]: ['HERE', 'SELF_SIGNED'],
    [LOST]: ['ELSEWHERE', 'NOT_CHECKED'],
    'absent.example.com': ['NOWHERE', 'NOT_CHECKED'],
  })
  assert.deepEqual(proxy?.names.toSorted(), [APEX, WWW])
  assert.deepEqual(json.records, [
    { type: 'CNAME', value: new URL(site.url).hostname },
    { type: 'A', value: '127.0.0.1' },
  ])
})

test('a stranger learns nothing about the domains of others', async () => {
  await service.operator('accounts', 'create', 'other')
  const stranger = await service.login('owner', 'other')
  const { reason } = await service.call(`/v1/${site.name}/domains:check`, { as: stranger })
  assert.equal(reason, 'ACCOUNT_NOT_FOUND')
})
