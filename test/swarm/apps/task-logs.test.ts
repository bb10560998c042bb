/** The output of apps on a real swarm, followed by the manager. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog, systemClock } from '../../../src/base/index.ts'
import { createTaskLogs, type Docker, type FollowedInstance, type TaskOutput } from '../../../src/swarm/index.ts'
import type { Swarm } from '../../support/machine/swarm.ts'
import { type Cluster, createCluster } from '../../support/swarm/cluster.ts'
import type { AppImage } from '../../support/swarm/image.ts'
import { sharedImage, sharedSwarm, skip } from '../../support/swarm/shared.ts'
import { until } from '../../support/until.ts'

const swarm = skip ? ({} as Swarm) : await sharedSwarm()
const image = skip ? ({} as AppImage) : await sharedImage()
const cluster = skip ? ({} as Cluster) : createCluster({ cluster: 'logs', docker: swarm.docker, image })

async function startApp(t: TestContext, deployment: string, region: string): Promise<FollowedInstance> {
  t.after(async () => {
    cluster.forget(deployment)
    await cluster.roundsUntil(() => cluster.of(deployment).length === 0, `${deployment} is gone`)
  })
  cluster.want(deployment, { region })
  await cluster.roundsUntil(() => cluster.running(deployment).length === 1, `${deployment} runs`)
  await visit(deployment, '/')
  return { instance: cluster.running(deployment)[0]?.instance ?? '' }
}

const visit = (deployment: string, path: string) =>
  until(async () => {
    const [url] = cluster.urls(deployment)
    return url && (await swarm.visit(url + path))?.status === 200
  }, `${deployment} answers ${path}`)

function startFollowing(t: TestContext, docker: Pick<Docker, 'taskLogs'> = swarm.docker) {
  const texts = new Map<string, string>()
  const logs = createTaskLogs({
    docker,
    clock: systemClock,
    log: createLog('silent'),
    async onOutput(instance, { stream, bytes }) {
      const key = `${instance} ${stream}`
      texts.set(key, (texts.get(key) ?? '') + bytes.toString())
    },
  })
  t.after(() => logs.stop())
  return { logs, textOf: (one: FollowedInstance, stream = 'stdout') => texts.get(`${one.instance} ${stream}`) ?? '' }
}

const linesTo = (last: number, from = 1): string =>
  Array.from({ length: last - from + 1 }, (_, at) => `line ${from + at}\n`).join('')

test('both streams of an instance are followed, each in its order', { skip }, async (t) => {
  const app = await startApp(t, 'streams', 'EU-W')
  const { logs, textOf } = startFollowing(t)
  await visit('streams', '/write?1:300:stdout')
  logs.follow([app])
  await until(() => textOf(app) === linesTo(300), 'the lines from before are there')
  await visit('streams', '/write?1:200:stderr')
  await visit('streams', '/write?301:400:stdout')
  await until(() => textOf(app) === linesTo(400), 'the later lines are there')
  await until(() => textOf(app, 'stderr') === linesTo(200), 'those of the other stream are there')
})

test('a line that Docker cuts into pieces is given whole', { skip }, async (t) => {
  const app = await startApp(t, 'long', 'EU-W')
  const { logs, textOf } = startFollowing(t)
  logs.follow([app])
  await visit('long', '/write-long?100000')
  await until(() => textOf(app).endsWith('x\n'), 'the end of the line is there')
  assert.equal(textOf(app), `${'x'.repeat(100_000)}\n`)
})

test('no line is given twice or lost where streams break, or another process goes on', { skip }, async (t) => {
  const app = await startApp(t, 'breaks', 'US-C')
  let streams = 0
  const breaking = {
    async *taskLogs(...asked: Parameters<Docker['taskLogs']>): AsyncGenerator<TaskOutput> {
      let left = ++streams * 150
      for await (const output of swarm.docker.taskLogs(...asked)) {
        yield output
        if (--left === 0) throw new Error('the stream broke')
      }
    },
  }
  const first = startFollowing(t, breaking)
  first.logs.follow([app])
  await visit('breaks', '/write?1:700:stdout')
  await visit('breaks', '/write-long?100000')
  const text = `${linesTo(700)}${'x'.repeat(100_000)}\n`
  await until(() => first.textOf(app).length >= text.length, 'all of it is there')
  assert.equal(first.textOf(app), text)
  assert.ok(streams > 2, `${streams} streams`)
  const position = first.logs.positions().get(app.instance)
  await first.logs.stop()
  const next = startFollowing(t)
  next.logs.follow([{ ...app, position }])
  await visit('breaks', '/write?701:800:stdout')
  await until(() => next.textOf(app).length > 0, 'the next process gets lines')
  await until(() => next.textOf(app) === linesTo(800, 701), 'it gets those that are new')
})

test('while a node is lost, others are followed, and its instances again when it is back', { skip }, async (t) => {
  const [here, there] = [await startApp(t, 'here', 'EU-W'), await startApp(t, 'there', 'US-C')]
  const node = swarm.nodes[2]
  t.after(() => node.plugIn())
  const { logs, textOf } = startFollowing(t)
  logs.follow([here, there])
  for (const deployment of ['here', 'there']) await visit(deployment, '/write?1:10:stdout')
  await until(() => textOf(there) === linesTo(10), 'both are followed')
  await node.unplug()
  await until(async () => {
    const found = await swarm.docker.node(node.id)
    return found.Status.State === 'down'
  }, 'the node is lost')
  await visit('here', '/write?11:20:stdout')
  await until(() => textOf(here) === linesTo(20), 'the other is still followed')
  await node.plugIn()
  const again = await startApp(t, 'there', 'US-C')
  logs.follow([here, again])
  await visit('there', '/write?1:5:stdout')
  await until(() => textOf(again) === linesTo(5), 'the node is followed again')
  assert.equal(textOf(there), linesTo(10))
})

test('the last lines of an instance that has ended are read, and then it is not followed', { skip }, async (t) => {
  const app = await startApp(t, 'ended', 'EU-W')
  const { logs, textOf } = startFollowing(t)
  logs.follow([app])
  await visit('ended', '/write?1:500:stdout')
  logs.follow([])
  await until(() => textOf(app) === linesTo(500), 'all lines are there')
  cluster.forget('ended')
  await cluster.roundsUntil(() => cluster.of('ended').length === 0, 'it is gone')
  await until(() => logs.positions().size === 0, 'nothing is followed')
})
