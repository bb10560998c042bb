import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../../../test/support/fuzz.ts'
import { addressOf, ENVIRONMENT, type RouteName } from '../../client/index.ts'
import { UsageError } from '../../contract/index.ts'
import { CallFailed } from '../connection/failures.ts'
import { createService } from '../connection/service.ts'
import { buildIn, namesIn } from './resource-names.ts'

const ACCOUNT = 'GET /v1/accounts/{account}/certificates' satisfies RouteName
const BUILD = `POST ${ENVIRONMENT}/builds/{build}:cancel` satisfies RouteName

test('what a server calls a resource leads to that resource, or is refused', () =>
  holds(
    fc.property(fc.oneof(nearly('accountsp/-_.', 40), fc.string(), fc.anything()), (name) => {
      let made: string
      try {
        made = addressOf(ACCOUNT, namesIn(name, 'account')).path
      } catch (error) {
        assert.ok(error instanceof CallFailed)
        return
      }
      assert.equal(new URL(`https://headland.test${made}`).href, `https://headland.test/v1/${name}/certificates`)
    }),
    500,
  ))

test('names that the service gives are names', () => {
  const name = 'accounts/acme/apps/Shop_1/environments/0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b/builds/no_build'
  assert.equal(addressOf(BUILD, buildIn(name)).path, `/v1/${name}:cancel`)
})

test('the name of another kind of resource is refused', () => {
  for (const name of ['accounts/a', 'accounts/a/apps/b', 'apps/b/accounts/a', 'accounts/a/certificates/b/builds/c'])
    assert.throws(() => namesIn(name, 'account', 'certificate'), /a name that no Headland gives/)
})

test('a name that was typed and can be no step of a path is an error of usage, and nothing is asked', async () => {
  // Nothing listens there.
  const { client } = createService('http://127.0.0.1:1', undefined)
  for (const account of ['', '.', '..', '\ud800']) {
    await assert.rejects(client.call(ACCOUNT, { path: { account } }), UsageError)
    await assert.rejects(Array.fromAsync(client.list(ACCOUNT, { path: { account } })), UsageError)
  }
})
