import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRoutedModules } from '../../test/support/modules/routing.ts'
import { until } from '../../test/support/until.ts'
import { createCookieKeys } from '../apps/index.ts'
import { systemClock } from '../base/index.ts'
import type { EdgeMember } from '../edge/index.ts'
import { createVault, DatabaseAway } from '../storage/index.ts'
import { createRouting } from './routing.ts'

test('routes that an edge does not use yet keep no others back', async (t) => {
  const modules = await openRoutedModules(t)
  const { promise: used, resolve: use } = Promise.withResolvers<void>()
  const sent: number[] = []
  const edges = {
    ...modules.edges,
    /** The first routes are not in use before the test says so. */
    setRoutes(member: EdgeMember, { revision }: { revision: number }): Promise<void> {
      member.sentRevision = revision
      sent.push(revision)
      member.routed = sent.length === 1 ? used : Promise.resolve()
      return sent.length === 1 ? used : Promise.resolve()
    },
  }
  let revision = 1
  const routing = createRouting({
    ...modules,
    edges,
    environments: { ...modules.environments, routesRevision: async () => revision },
    cookieKeyOf: createCookieKeys({ vault: createVault(Buffer.alloc(32, 1)) }),
    domain: 'sites.example.com',
  })
  let isFirstOver = false
  const first = routing.publish().then(() => {
    isFirstOver = true
  })
  await until(() => sent.length === 1)
  revision = 2
  await routing.publish()
  assert.deepEqual([sent, isFirstOver], [[1, 2], false])
  use()
  await first
})

test('an edge that connects while the database is away gets its routes when it is back', async (t) => {
  const modules = await openRoutedModules(t)
  const serving: EdgeMember[] = [modules.edge]
  let connect: (member: EdgeMember) => void = () => undefined
  let isAway = false
  let failures = 0
  const routing = createRouting({
    ...modules,
    clock: systemClock,
    cookieKeyOf: createCookieKeys({ vault: createVault(Buffer.alloc(32, 1)) }),
    domain: 'sites.example.com',
    environments: {
      ...modules.environments,
      async routesRevision() {
        if (!isAway) return modules.environments.routesRevision()
        failures++
        throw new DatabaseAway('away')
      },
    },
    edges: {
      ...modules.edges,
      serving: () => serving,
      onConnected(listener) {
        connect = listener
        return () => undefined
      },
    },
  })
  await routing.start()
  t.after(() => routing.stop())
  const late = { revision: null, sentRevision: null } as EdgeMember
  isAway = true
  serving.push(late)
  connect(late)
  await until(() => failures > 0)
  assert.equal(late.revision, null)
  isAway = false
  await until(() => late.revision !== null)
  assert.equal(late.revision, modules.edge.revision)
})
