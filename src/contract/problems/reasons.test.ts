import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf, PROBLEMS, type Reason } from './reasons.ts'

test('texts about problems for people name no field of the API', () => {
  for (const [reason, { meaning, todo }] of Object.entries(PROBLEMS))
    assert.doesNotMatch(`${meaning} ${todo}`, /metadata\./, reason)
})

test('a host that cannot be reached is not called a fault in the app', () => {
  const network: Reason[] = ['CMS_UNREACHABLE', 'DOWNLOAD_FAILED', 'REGISTRY_UNREACHABLE', 'TOOL_NOT_AVAILABLE']
  for (const reason of network) assert.match(causeOf(reason), /in the network or at the other end/)
  assert.equal(causeOf('TYPE_ERROR'), 'The cause is in the app.')
  assert.match(causeOf('DISK_FULL'), /^The cause is in the service/)
})
