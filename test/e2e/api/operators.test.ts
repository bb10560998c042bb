/** Owners of an account that operates the installation see its processes; no one else does. One machine, as most are. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { resources } from '../../../src/contract/index.ts'
import { upload } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { heldBuild, untilHeld } from '../../support/service/held-build.ts'
import { type Login, startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const service = await startService({ after }, { settings: { HEADLAND_OPERATOR_ACCOUNTS: 'operators, not-there' } })
await service.operator('accounts', 'create', 'operators')
const [operator, developer, viewer, tenant] = await Promise.all([
  service.login('owner', 'operators'),
  service.login('developer', 'operators'),
  service.login('viewer', 'operators'),
  service.login('owner', 'default'),
])

const read = async (as: Login): Promise<resources.Cluster> => {
  const { status, json, text } = await service.call('/v1/cluster', { as })
  assert.equal(status, 200, text)
  return json
}

test('an operator sees the one machine: its control process, which leads, its edge, and nothing broken', async () => {
  const found = await until(async () => {
    const cluster = await read(operator)
    return cluster.leader && cluster.edges.length > 0 ? cluster : undefined
  }, 'a process leads, and an edge follows it')
  assert.equal(found.shared, false)
  assert.equal(found.controls.length, 1)
  assert.equal(found.controls[0]?.leading, true)
  assert.equal(found.edges[0]?.control, found.controls[0]?.process)
  assert.deepEqual(found.nodes, [])
  assert.deepEqual(
    found.findings.filter(({ state }) => state === 'broken'),
    [],
  )
  assert.equal(found.counts.controls, 1)
})

test('an operator sees which process builds, and for which account', async () => {
  const environment = await createEnvironment(service, tenant)
  const asked = await upload(service, tenant, environment.name, heldBuild('for-operators', 'done'))
  const held = await untilHeld('for-operators')
  const { workers, work, controls } = await read(operator)
  assert.deepEqual(
    work.map(({ operation, process, trigger }) => ({ operation, process, trigger })),
    [{ operation: asked.json.name, process: controls[0]?.process, trigger: 'UPLOAD' }],
  )
  assert.deepEqual(workers, [{ process: controls[0]?.process, builds: 1, silentSeconds: 0 }])
  await held.goOn()
})

test('names of processes are short, and without what identifies a machine', async () => {
  const text = JSON.stringify(await read(operator))
  assert.doesNotMatch(text, /pid:\[/)
  assert.doesNotMatch(text, /[0-9a-f]{8}-[0-9a-f]{4}-4/)
})

test('to an owner of another account the route does not exist', async () => {
  const answer = await service.call('/v1/cluster', { as: tenant })
  const absent = await service.call('/v1/absence', { as: tenant })
  assert.equal(answer.status, 404)
  assert.deepEqual(answer.text.replace('cluster', 'absence'), absent.text)
})

test('members of the account that are no owners are refused', async () => {
  for (const [role, as] of [
    ['developer', developer],
    ['viewer', viewer],
  ] as const) {
    const { status, reason, json } = await service.call('/v1/cluster', { as })
    assert.equal(status, 403)
    assert.equal(reason, 'ROLE_TOO_WEAK')
    assert.deepEqual(json.error.details[0].metadata, { needed: 'owner', role })
  }
})

test('a session says whether its user is an operator, and is enough to see it', async () => {
  for (const [email, account, role, isOperator] of [
    ['operator@example.com', 'operators', 'owner', true],
    ['watcher@example.com', 'operators', 'viewer', false],
    ['tenant@example.com', 'default', 'owner', false],
  ] as const) {
    const made = await service.operator('users', 'create', email, '--account', account, '--role', role, '--json')
    const { json, headers } = await service.call('/v1/session', { method: 'POST', body: JSON.parse(made) })
    assert.equal(json.operator, isOperator, email)
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
    assert.equal((await service.call('/v1/cluster', { headers: { cookie } })).status === 200, isOperator, email)
  }
})
