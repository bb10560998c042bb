/** The examples of the service: archives that a client uploads like its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { declaredFiles } from '../../support/zip-reader.ts'
import { service } from './service.ts'

const as = await service.login('viewer')
const authorization = `Basic ${btoa(`${as.userId}:${as.password}`)}`

test('the list names every archive with its size, the one for a first look first', async () => {
  const { json, status } = await service.call('/v1/examples', { as })
  assert.equal(status, 200)
  const examples: resources.Example[] = json.examples
  assert.equal(examples[0]?.name, 'examples/welcome')
  for (const { name, bytes, displayName, description } of examples) {
    const answer = await fetch(`${service.api}/v1/${name}.zip`, { headers: { authorization } })
    assert.equal(answer.headers.get('content-type'), 'application/zip')
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    const zip = Buffer.from(await answer.arrayBuffer())
    assert.equal(zip.length, bytes)
    assert.ok((await declaredFiles(zip))['package.json'])
    assert.ok(displayName && description)
  }
})

test('an example that is not offered does not exist, and a path is no name', async () => {
  assert.equal((await service.call('/v1/examples/next.zip', { as })).reason, 'EXAMPLE_NOT_FOUND')
  for (const name of ['..%2Fwelcome', '%2e%2e', 'Welcome', 'welcome%00']) {
    const answer = await service.call(`/v1/examples/${name}.zip`, { as })
    assert.ok(answer.status === 400 || answer.status === 404, `${name}: ${answer.text}`)
  }
  assert.equal((await service.call('/v1/examples')).reason, 'CREDENTIALS_REQUIRED')
})
