import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_NETWORK_SETTINGS } from '../settings.ts'
import { reachableByJobs } from './refusals.ts'

test('what the service calls for a tenant is where the programs of tenants may call', () => {
  const mayCall = reachableByJobs({ ...DEFAULT_NETWORK_SETTINGS, allowed: ['127.0.0.1:8888'] })
  assert.equal(mayCall('203.0.113.7', 80), true)
  assert.equal(mayCall('127.0.0.1', 8888), true)
  for (const address of ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.0.1', '::1', '2001:db8::1', 'name'])
    assert.equal(mayCall(address, 80), false, address)
})
