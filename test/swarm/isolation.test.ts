/** The firewall of nodes, with real packets: what reaches an app, and what an app reaches. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { isolationRules } from '../../src/swarm/index.ts'
import { NEEDS_REGISTRY } from '../support/images/registry.ts'
import { end, inReverse, WITH_US } from '../support/machine/docker-engine.ts'
import { NEEDS_SWARM, startSwarm, visitFrom } from '../support/machine/swarm.ts'
import { createCluster } from '../support/swarm/cluster.ts'
import { startImage } from '../support/swarm/image.ts'
import { until } from '../support/until.ts'

const skip = NEEDS_SWARM.skip || NEEDS_REGISTRY.skip

/** Stands for a server of the internet, and for the API for apps, in the network between the nodes. */
const PUBLIC = '203.0.113.7'
const PORTS = { open: 8080, api: 8081 }

async function run(command: readonly string[], input = '') {
  const [file = '', ...args] = command
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.end(input)
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, command.join(' '))
}

const SERVER = `
const { createServer } = require('node:http')
const [address, ...ports] = process.argv.slice(1)
let left = ports.length
for (const port of ports)
  createServer((_, response) => response.end('here')).listen(Number(port), address, () => --left === 0 && console.log('ready'))
`

test('edges alone reach apps, and apps reach the internet and what is allowed', { skip }, async () => {
  const t = inReverse({ after })
  const swarm = await startSwarm(t, ['EU-W', 'US-C', ''])
  const image = await startImage(t, swarm)
  const [first, second, third] = swarm.nodes
  await run([...swarm.inside, 'ip', 'addr', 'add', `${PUBLIC}/32`, 'dev', 'br0'])
  for (const [address, port] of [
    [PUBLIC, PORTS.open],
    [swarm.address, PORTS.api],
  ] as const) {
    const [file = '', ...args] = [...WITH_US, ...swarm.inside, process.execPath, '-e', SERVER, address, String(port)]
    const server = spawn('setpriv', [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => end(server, () => server.pid))
    await once(server.stdout, 'data')
  }
  const cluster = createCluster({ cluster: 'net', docker: swarm.docker, image })
  cluster.want('one')
  cluster.want('neighbour')
  cluster.want('far', { region: 'US-C' })
  const names = ['one', 'neighbour', 'far']
  await cluster.roundsUntil(() => names.every((name) => cluster.running(name).length === 1), 'they run')
  const urlOf = (name: string) => cluster.urls(name)[0] ?? ''
  const hostOf = (name: string) => urlOf(name).replace('http://', '')
  for (const name of names) await until(async () => (await swarm.visit(urlOf(name)))?.status === 200, `${name} answers`)
  const reach = async (to: string) => (await swarm.visit(`${urlOf('one')}/reach?${to}`))?.text

  // Docker alone: everything is reached.
  assert.equal(await reach(hostOf('far')), 'connected')
  assert.equal(await reach(image.registry), 'connected')
  assert.equal(await reach(`${first.address}:2377`), 'connected')
  assert.equal((await visitFrom(third.inside, urlOf('one')))?.status, 200)

  const rules = isolationRules({
    edges: [swarm.address],
    blocked: [],
    allowed: [{ address: swarm.address, port: PORTS.api }],
    resolvers: [],
  })
  for (const node of swarm.nodes) await run([...node.inside, 'nft', '-f', '-'], rules)
  // They may be replaced at any time.
  for (const node of swarm.nodes) await run([...node.inside, 'nft', '-f', '-'], rules)

  for (const name of names) assert.equal((await swarm.visit(urlOf(name)))?.status, 200, `an edge reaches ${name}`)
  assert.equal(await reach(`${PUBLIC}:${PORTS.open}`), 'connected', 'the internet')
  assert.equal(await reach(`${swarm.address}:${PORTS.api}`), 'connected', 'what is allowed')
  for (const [what, to] of Object.entries({
    'an app of another node': hostOf('far'),
    'a neighbour by its node': hostOf('neighbour'),
    itself: hostOf('one'),
    'the registry': image.registry,
    'its own node': `${first.address}:2377`,
    'another node': `${second.address}:7946`,
    'the gateway of its network': '10.211.0.1:2377',
  }))
    assert.notEqual(await reach(to), 'connected', what)
  assert.equal(await visitFrom(third.inside, urlOf('one')), undefined, 'another node reaches no app')
})
