/**
 * Purges are honest with several control processes and machines, too: after one is acknowledged, no edge answers with what was
 * purged, whichever control process it follows, and whatever has happened to either.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createRandom } from '../../../torture/random.ts'
import { startCluster } from '../../support/edge/cluster.ts'
import { startUpstream } from '../../support/edge/edge.ts'
import type { Scope } from '../../support/folder.ts'
import { rounds } from '../../support/long.ts'
import { NEEDS_POSTGRES, type Postgres, startPostgres } from '../../support/postgres/server.ts'
import { until } from '../../support/until.ts'

const LEASE_MS = 3000

/** Of faults in a random order. */
const ROUNDS = rounds({ short: 15, long: 25 })

/** A lease that no test waits for: it would time out. */
const LONG_LEASE_MS = 600_000

suite('with PostgreSQL', NEEDS_POSTGRES, () => {
  let postgres: Postgres
  const ends: (() => unknown)[] = []
  before(async () => {
    postgres = await startPostgres({ after: (end) => ends.unshift(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  type Started = ReturnType<typeof start>
  const started = new Map<string, Started>()

  /**
   * The cluster of this form. Tests share it, as its processes take seconds to start: each test leaves all of them running, and
   * within reach of each other, unless it is the last one.
   */
  function shared(form: { edges: number; leaseMs: number }): Started {
    const key = JSON.stringify(form)
    const made = started.get(key) ?? start({ after: (end) => ends.unshift(end) }, form)
    started.set(key, made)
    return made
  }

  /** Two control processes, and edges before an app whose page names its version, and may be used for an hour. */
  async function start(t: Scope, { edges, leaseMs }: { edges: number; leaseMs: number }) {
    let version = 1
    const app = await startUpstream(t, (_, response) => {
      response.writeHead(200, { 'cache-control': 's-maxage=3600, stale-if-error=3600' }).end(String(version))
    })
    const cluster = await startCluster(t, postgres, { controls: 2, edges, leaseMs, appPort: app.port })
    const [first, second] = cluster.controls
    const [edge] = cluster.edges
    assert.ok(first && second && edge)
    return {
      ...cluster,
      first,
      second,
      edge,
      /** Resolves when all edges answer with what they have stored. */
      stored: () => until(async () => (await Promise.all(cluster.edges.map((one) => one.isHit()))).every(Boolean)),
      change: () => ++version,
      versions: () => Promise.all(cluster.edges.map(async (one) => Number((await one.get()).text))),
    }
  }

  test('a purge at one control process is acknowledged when the edges of the other have confirmed it', async () => {
    const { first, second, edges, stored, change, versions } = await shared({ edges: 3, leaseMs: LONG_LEASE_MS })
    for (const [at, edge] of edges.entries()) await edge.follow(at % 2)
    for (let round = 0; round < 10; round++) {
      await stored()
      const version = change()
      await (round % 2 ? first : second).purge()
      assert.deepEqual(await versions(), [version, version, version])
    }
  })

  test('purges at both control processes at the same time are all confirmed', async () => {
    const { first, second, edges, stored, change, versions } = await shared({ edges: 3, leaseMs: LONG_LEASE_MS })
    for (const [at, edge] of edges.entries()) await edge.follow(at % 2)
    await stored()
    const version = change()
    await Promise.all(Array.from({ length: 60 }, (_, at) => (at % 2 ? first : second).purge()))
    assert.deepEqual(await versions(), [version, version, version])
  })

  test('a purge waits for the lease of an edge of the other control process that was stopped', async () => {
    const { first, edge, stored, change } = await shared({ edges: 1, leaseMs: LEASE_MS })
    await edge.follow(1)
    await stored()
    edge.freeze()
    const version = change()
    await first.purge()
    const waiting = edge.get()
    edge.thaw()
    assert.equal(Number((await waiting).text), version)
  })

  test('an edge that was stopped is not waited for, whichever process it followed', async () => {
    const { first, second, edges, stored } = await shared({ edges: 3, leaseMs: LONG_LEASE_MS })
    const [one, other, last] = edges
    assert.ok(one && other && last)
    await one.follow(0)
    await other.follow(1)
    await stored()
    await Promise.all([one.stop(), other.stop()])
    await Promise.all([first.purge(), second.purge()])
  })

  test('an edge whose control process is killed follows the other one, and is told what was purged', async () => {
    const { first, second, edge, stored, change } = await shared({ edges: 1, leaseMs: LONG_LEASE_MS })
    await edge.follow(1)
    await stored()
    const killed = second.pid()
    second.kill()
    const version = change()
    // With the lease that it has, it could use the old page for minutes.
    await first.purge()
    assert.equal(Number((await edge.get()).text), version)
    assert.ok(await edge.isFollowing(0))
    await second.back(killed)
  })

  test('a purge goes on when the control process of an edge is killed and started again', async () => {
    const { first, second, edge, stored, change } = await shared({ edges: 1, leaseMs: LONG_LEASE_MS })
    await edge.follow(1)
    await stored()
    edge.stay(1)
    const killed = second.pid()
    second.kill()
    const version = change()
    const purged = first.purge()
    await second.back(killed)
    await purged
    assert.equal(Number((await edge.get()).text), version)
    assert.ok(await edge.isFollowing(1))
  })

  test('an edge that loses both is not waited for longer than its lease, and does not use the old page', async () => {
    const { first, edge, stored, change } = await shared({ edges: 1, leaseMs: LEASE_MS })
    await edge.follow(1)
    await stored()
    edge.cut()
    const version = change()
    await first.purge()
    assert.equal(Number((await edge.get()).text), version)
    assert.equal(await edge.isHit(), false)
    edge.mend()
    await until(edge.isHit)
    assert.equal(Number((await edge.get()).text), version)
  })

  test('an edge that was killed is not waited for when it was started again, whichever process it follows', async () => {
    const { databaseUrl, first, edge, stored, change } = await shared({ edges: 1, leaseMs: LONG_LEASE_MS })
    await edge.follow(1)
    await stored()
    edge.kill()
    const version = change()
    await first.purge()
    await until(async () => (await edge.get().catch(() => undefined))?.text === String(version))
    assert.equal(await postgres.psql('SELECT count(*) FROM edges', databaseUrl), '1')
  })

  test('a control process that is gone with its edge is removed, and nothing waits for either any more', async () => {
    const { databaseUrl, first, second, edge } = await shared({ edges: 1, leaseMs: LEASE_MS })
    await edge.follow(1)
    edge.freeze()
    edge.cut()
    const killed = second.pid()
    second.kill()
    const rows = () => postgres.psql('SELECT count(*) FROM edges', databaseUrl)
    assert.equal(await rows(), '1')
    await second.back(killed)
    await until(async () => (await rows()) === '0')
    await until(async () => (await postgres.psql('SELECT count(*) FROM control_processes', databaseUrl)) === '2')
    await first.purge()
    edge.thaw()
    edge.mend()
  })

  test('a control process that was stopped, and removed, records its edges again before it grants leases', async () => {
    const { databaseUrl, first, second, edge, stored, change } = await shared({ edges: 1, leaseMs: LEASE_MS })
    await edge.follow(1)
    await stored()
    const rows = () => postgres.psql('SELECT count(*) FROM edges', databaseUrl)
    process.kill(second.pid(), 'SIGSTOP')
    // The edge may not go to the other one: nobody answers it.
    edge.cut()
    await until(async () => (await rows()) === '0')
    edge.mend()
    process.kill(second.pid(), 'SIGCONT')
    await until(edge.isHit)
    assert.equal(await rows(), '1')
    const version = change()
    await first.purge()
    assert.equal(Number((await edge.get()).text), version)
  })

  test('in a random order of faults, no acknowledged purge is followed by an old page', async (t) => {
    const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 1e9))
    t.diagnostic(`FUZZ_SEED=${seed} repeats the order of faults`)
    const random = createRandom(seed, 'cluster')
    const { controls, edges, change } = await start(t, { edges: 3, leaseMs: 2000 })
    let acknowledged = 1
    let current = 1
    let isOver = false
    const old: string[] = []
    let [answers, purges] = [0, 0]

    /** Without it, visitors would take the time that the faults need. */
    const PAUSE_MS = 20

    /** A visitor that comes again and again, and knows which version it may not see any more. */
    async function visit(edge: (typeof edges)[number]) {
      while (!isOver) {
        await wait(PAUSE_MS)
        const least = acknowledged
        const { status, text } = await edge.get().catch(() => ({ status: 0, text: '' }))
        if (status !== 200) continue
        answers++
        if (Number(text) < least) old.push(`${edge.name} answered ${text} after ${least}`)
      }
    }

    async function purge() {
      const version = change()
      current = version
      const done = await random
        .pick(controls)
        .purge()
        .then(
          () => true,
          () => false,
        )
      if (!done) return
      purges++
      acknowledged = Math.max(acknowledged, version)
    }

    async function fault() {
      const edge = random.pick(edges)
      const control = random.pick(controls)
      const kind = random.weighted({ freeze: 3, cut: 3, killControl: 2, freezeControl: 2, killEdge: 1, nothing: 2 })
      const pid = control.pid()
      const edgePid = edge.pid()
      if (kind === 'freeze') edge.freeze()
      if (kind === 'cut') edge.cut()
      if (kind === 'killEdge') edge.kill()
      if (kind === 'killControl') control.kill()
      if (kind === 'freezeControl') process.kill(pid, 'SIGSTOP')
      const during = purge()
      const ending = random.below(2) === 0 ? during : wait(random.below(3000))
      if (kind !== 'freezeControl') await ending
      else await wait(random.below(4000))
      if (kind === 'freeze') edge.thaw()
      if (kind === 'cut') edge.mend()
      if (kind === 'killControl') await control.back(pid)
      if (kind === 'freezeControl') process.kill(pid, 'SIGCONT')
      if (kind === 'killEdge') await edge.back(edgePid)
      await during
    }

    const visitors = edges.map(visit)
    try {
      for (let round = 0; round < ROUNDS && old.length === 0; round++) await fault()
      for (const edge of edges)
        await until(async () => Number((await edge.get().catch(() => ({ text: '' }))).text) >= acknowledged)
    } finally {
      isOver = true
      await Promise.all(visitors)
    }
    t.diagnostic(`${purges} purges acknowledged, ${answers} answers, version ${current}`)
    assert.deepEqual(old, [])
    assert.ok(purges > 5 && answers > 100)
  })
})
