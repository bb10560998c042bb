/** Two services on one database: one of their control processes leads, and the other takes over. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { NEEDS_POSTGRES, startPostgres } from '../../support/postgres/server.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

async function read(service: TestService) {
  const { text } = await service.call('/metrics')
  const figure = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  return { isLeading: figure('headland_leader') === 1, term: figure('headland_leader_term') }
}

test(
  'one of two services leads; it is killed, reloaded and stopped, and one leads again',
  NEEDS_POSTGRES,
  async (t) => {
    const server = await startPostgres(t)
    const settings = {
      HEADLAND_DATABASE_URL: await server.createDatabase(),
      HEADLAND_MASTER_KEY: randomBytes(32).toString('base64'),
    }
    const services = [await startService(t, { settings }), await startService(t, { settings })] as const

    /** Both know the same leader, with a higher term than before. */
    const leaderAfter = (term: number) =>
      until(async () => {
        const [one, two] = await Promise.all(services.map((service) => read(service).catch(() => undefined)))
        if (!one || !two || one.term !== two.term || one.term <= term || one.isLeading === two.isLeading)
          return undefined
        const [leading, following] = one.isLeading ? services : services.toReversed()
        return leading && following && { leading, following, term: one.term }
      }, `a process leads after term ${term}`)

    const first = await leaderAfter(0)
    assert.match(first.leading.log(), /this process leads/)
    assert.match(first.following.log(), /another process leads/)

    process.kill(first.leading.controlPid(), 'SIGKILL')
    const second = await leaderAfter(first.term)

    await second.leading.operator('reload')
    const third = await leaderAfter(second.term)

    assert.equal(await third.leading.stop(), 0)
    const { following } = third
    await until(async () => (await read(following)).isLeading, 'the other one leads')
    assert.ok((await read(following)).term > third.term)
  },
)
