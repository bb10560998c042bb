/** The badge of an environment: for everyone where it is on, and nowhere else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, page, untilDone } from '../../support/service/deploy.ts'
import { createEnvironment } from '../../support/service/environment.ts'
import { until } from '../../support/until.ts'
import { service } from './service.ts'

const as = await service.login()
const { name } = await createEnvironment(service, as)
const path = `/v1/${name}/badge.svg`

async function turn(badge: boolean) {
  const { json } = await service.call(`/v1/${name}`, { method: 'PATCH', as, body: { badge } })
  return (await untilDone(service, as, json.name)).response
}

/** Waits until the badge, asked for without credentials, shows this. */
const untilShown = (wanted: RegExp) =>
  until(async () => {
    const answer = await service.call(path)
    return wanted.test(answer.text) ? answer : undefined
  }, `the badge shows ${wanted}`)

test('a badge that is off answers as one that is not there', async () => {
  const other = path.replace(/environments\/[^/]+/, 'environments/0199e7c0-0000-7000-8000-000000000000')
  const [off, absent] = [await service.call(path), await service.call(other)]
  assert.deepEqual([off.status, off.reason, off.text], [404, 'ENVIRONMENT_NOT_FOUND', absent.text])
  assert.equal((await service.call(`/v1/${name}`, { as })).json.badge, false)
})

test('a badge that is on shows everyone the state, can do nothing as a page, and is asked for again with its etag', async () => {
  assert.equal((await turn(true))?.badge, true)
  const empty = await untilShown(/: never deployed"/)
  assert.equal(empty.headers.get('content-type'), 'image/svg+xml; charset=utf-8')
  assert.equal(empty.headers.get('cache-control'), 'public, max-age=30')
  assert.match(empty.headers.get('content-security-policy') ?? '', /^default-src 'none'; .*sandbox$/)
  const etag = empty.headers.get('etag') ?? ''
  const again = await service.call(path, { headers: { 'if-none-match': `W/"x", ${etag}` } })
  assert.deepEqual([again.status, again.text], [304, ''])

  await deploy(service, as, name, page('the site'))
  assert.notEqual((await untilShown(/: live"/)).headers.get('etag'), etag)
  assert.ok((await deploy(service, as, name, { 'notes.txt': 'no site' })).error)
  await untilShown(/: failing"/)

  await turn(false)
  await untilShown(/ENVIRONMENT_NOT_FOUND/)
})
