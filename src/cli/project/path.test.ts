import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../../../test/support/fuzz.ts'
import { UsageError } from '../../contract/index.ts'
import { CallFailed } from '../connection/failures.ts'
import { api, resource } from './path.ts'

const LETTERS = 'ab/.#?%:;&= \\\n\t'

test('a name that is filled in is one step of a path, or no path comes of it', () =>
  holds(
    fc.property(fc.oneof(nearly(LETTERS), fc.string()), (name) => {
      let made: string
      try {
        made = String(api`/v1/accounts/${name}/apps`)
      } catch (error) {
        assert.ok(error instanceof UsageError)
        return
      }
      const { pathname, search, hash, host } = new URL(`https://headland.test${made}`)
      const steps = pathname.split('/')
      assert.deepEqual([steps.length, steps[2], steps[4], search, hash], [5, 'accounts', 'apps', '', ''])
      assert.deepEqual([host, decodeURIComponent(steps[3] ?? '')], ['headland.test', name])
    }),
    500,
  ))

test('what a server calls a resource leads to that resource, or is refused', () =>
  holds(
    fc.property(fc.oneof(nearly('accountsp/-_.', 40), fc.string(), fc.anything()), (name) => {
      let made: string
      try {
        made = String(api`/v1/${resource(name)}/log`)
      } catch (error) {
        assert.ok(error instanceof CallFailed)
        return
      }
      assert.equal(new URL(`https://headland.test${made}`).href, `https://headland.test/v1/${name}/log`)
    }),
    500,
  ))

test('names that the service gives are names', () => {
  const name = 'accounts/acme/apps/Shop_1/environments/0197a3c4-5b6d-7e8f-9a0b-1c2d3e4f5a6b/builds/no_build'
  assert.equal(String(api`/v1/${resource(name)}:cancel`), `/v1/${name}:cancel`)
})
