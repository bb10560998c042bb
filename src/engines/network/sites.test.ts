import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loopbackPorts, type SiteAccess, siteAddress, watchProxyAddresses } from './sites.ts'

const GATEWAY = '10.201.0.1'
const SITES: readonly string[] = ['one.example.test', 'www.shop.test']

async function addressOf(name: string, access: SiteAccess): Promise<{ address: string | undefined; asked: string[] }> {
  const asked: string[] = []
  const isSite = async (host: string) => {
    asked.push(host)
    return SITES.includes(host)
  }
  return { address: await siteAddress(name, access, { isSite, gateway: GATEWAY }), asked }
}

test('names that end with localhost are loopback, and no edge is asked', async () => {
  for (const name of ['localhost', 'one.localhost', 'unknown.apps.localhost'])
    assert.deepEqual(await addressOf(name, { ports: [8081], domain: 'localhost' }), {
      address: '127.0.0.1',
      asked: [],
    })
})

test('where visitors use plain HTTP, sites are at the gateway, and other names of the domain are not', async () => {
  const access = { ports: [80], domain: 'example.test' }
  for (const name of SITES) assert.equal((await addressOf(name, access)).address, GATEWAY)
  for (const name of ['cms.example.test', 'example.test', 'notlocalhost', 'localhost.test'])
    assert.equal((await addressOf(name, access)).address, undefined)
})

test('where visitors use TLS, and where there is no edge, DNS decides', async () => {
  for (const access of [
    { ports: [8081], domain: 'example.test', tlsPort: 443 },
    { ports: [], domain: 'example.test' },
  ])
    assert.deepEqual(await addressOf('one.example.test', access), { address: undefined, asked: [] })
})

test('loopback of a job leads to the edge only where sites have names of it', () => {
  assert.deepEqual(loopbackPorts({ ports: [8081], domain: 'apps.localhost' }), [8081])
  assert.deepEqual(loopbackPorts({ ports: [8081], domain: 'example.test' }), [])
})

test('the addresses of a proxy are those of the operator, and DNS is not asked then', async () => {
  const resolvers = () => Promise.reject(new Error('DNS was asked'))
  const given = { ports: [8081], domain: 'example.test', tlsPort: 443, publicAddresses: ['203.0.113.9', '2001:db8::9'] }
  assert.deepEqual(await watchProxyAddresses(given, resolvers)(), ['203.0.113.9'])
  // IPv6 alone: jobs have none, and what DNS has is not what the operator gave.
  assert.deepEqual(await watchProxyAddresses({ ...given, publicAddresses: ['2001:db8::9'] }, resolvers)(), [])
  const { tlsPort: _, ...plain } = given
  assert.deepEqual(await watchProxyAddresses(plain, resolvers)(), [])
})
