import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { holds, nearly } from '../../test/support/fuzz.ts'
import { AddressError, addressOf, type RouteName } from './route-types.ts'

const APPS = 'GET /v1/accounts/{account}/apps' satisfies RouteName

test('a parameter is one step of a path, or no path comes of it', () =>
  holds(
    fc.property(fc.oneof(nearly('ab/.#?%:;&= \\\n\t'), fc.string()), (account) => {
      let made: string
      try {
        made = addressOf(APPS, { account }).path
      } catch (error) {
        assert.ok(error instanceof AddressError)
        return
      }
      const { pathname, search, hash, host } = new URL(`https://headland.test${made}`)
      const steps = pathname.split('/')
      assert.deepEqual([steps.length, steps[2], steps[4], search, hash], [5, 'accounts', 'apps', '', ''])
      assert.deepEqual([host, decodeURIComponent(steps[3] ?? '')], ['headland.test', account])
    }),
    500,
  ))
