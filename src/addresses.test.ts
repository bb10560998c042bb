import assert from 'node:assert/strict'
import { test } from 'node:test'
import { siteAccess } from './addresses.ts'
import { loadConfig } from './config.ts'

const accessWith = (flags: Record<string, string>, edgePort = 8081) => {
  const { ports, tlsPort } = siteAccess(loadConfig({ flags }).config, edgePort)
  return { ports, tlsPort }
}

test('builds and apps use the ports of visitors: that of the edge, and that of its public address', () => {
  assert.deepEqual(accessWith({}), { ports: [8081], tlsPort: undefined })
  assert.deepEqual(accessWith({ 'edge-url': 'http://sites.example.org' }), { ports: [8081, 80], tlsPort: undefined })
  assert.deepEqual(accessWith({ 'edge-url': 'http://localhost:8081' }), { ports: [8081], tlsPort: undefined })
  assert.deepEqual(accessWith({ 'edge-url': 'https://sites.example.org' }), { ports: [8081], tlsPort: 443 })
  assert.deepEqual(accessWith({ 'edge-url': 'https://sites.example.org:8443' }), { ports: [8081], tlsPort: 8443 })
})

test('an edge whose port is not known is not reached', () => {
  assert.deepEqual(accessWith({}, 0), { ports: [], tlsPort: undefined })
})
