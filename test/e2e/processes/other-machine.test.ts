/** An edge with a data folder of its own follows the control process of another one by the network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../support/certificates/pebble.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { deploy, page } from '../../support/service/deploy.ts'
import { createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/until.ts'

const edgeSettings = (controlAddresses: string, token: string) => ({
  HEADLAND_ROLES: 'edge',
  HEADLAND_CONTROL_ADDRESSES: controlAddresses,
  HEADLAND_CLUSTER_TOKEN: token,
})

test('it gets routes as they change, also from a control process that was started again', async (t) => {
  const address = `127.0.0.1:${await freePort()}`
  const control = await startService(t, { settings: { HEADLAND_CLUSTER_LISTEN: address } })
  const as = await control.login()
  const environment = await createEnvironment(control, as)
  const token = (await control.operator('cluster', 'token', 'edge', 'sydney-1')).trim()
  assert.match(token, /^edge:sydney-1:[\w-]{43}$/)
  const settings = edgeSettings(`127.0.0.1:1,${address}`, token)
  const edge = await startService(t, { dataDir: await temporaryFolder(t), settings })
  await deploy(control, as, environment.name, page('one'))
  assert.match((await siteAnswer(edge, environment.url)).text, /one/)

  process.kill(control.controlPid(), 'SIGKILL')
  assert.match((await siteAnswer(edge, environment.url)).text, /one/)
  await until(() =>
    control.call('/healthz').then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  await until(async () => {
    await deploy(control, as, environment.name, page('two'))
    return /two/.test((await siteAnswer(edge, environment.url)).text)
  })
  assert.equal(await edge.stop(), 0)
  assert.doesNotMatch(control.log(), new RegExp(token.split(':')[2] ?? ''))
})

test('an edge whose token was revoked gets no more routes, and with the next token it does', async (t) => {
  const address = `127.0.0.1:${await freePort()}`
  const control = await startService(t, { settings: { HEADLAND_CLUSTER_LISTEN: address } })
  const as = await control.login()
  const environment = await createEnvironment(control, as)
  const tokenOf = async () => (await control.operator('cluster', 'token', 'edge', 'sydney-1')).trim()
  const start = async (token: string) => startService(t, { settings: edgeSettings(address, token) })
  const edge = await start(await tokenOf())
  await deploy(control, as, environment.name, page('one'))
  assert.match((await siteAnswer(edge, environment.url)).text, /one/)
  assert.match(await control.operator('cluster', 'revoke', 'edge', 'sydney-1'), /are revoked/)
  await until(() => /the token of edge\/sydney-1 was revoked/.test(control.log()), 'its connection is ended')
  assert.match(await control.operator('cluster', 'tokens'), /sydney-1 +none/)
  await deploy(control, as, environment.name, page('two'))
  assert.match((await siteAnswer(edge, environment.url)).text, /one/)
  await edge.stop()
  const next = await start(await tokenOf())
  await until(async () => /two/.test((await siteAnswer(next, environment.url)).text), 'it follows again')
})

test('what cannot work is refused before anything is started', async (t) => {
  const start = (settings: Record<string, string>) => startService(t, { settings })
  await assert.rejects(start(edgeSettings('127.0.0.1:1', '')), /controlAddresses needs clusterToken/)
  await assert.rejects(start(edgeSettings('127.0.0.1:1', 'edge:a:short')), /this is not a join token/)
  const worker = `worker:a:${'A'.repeat(43)}`
  await assert.rejects(start(edgeSettings('127.0.0.1:1', worker)), /is for the role worker, and not for edge/)
  await assert.rejects(
    start({ ...edgeSettings('127.0.0.1:1', 'x'), HEADLAND_ROLES: 'edge,control' }),
    /Set roles to edge/,
  )
  await assert.rejects(start(edgeSettings('127.0.0.1:0', 'x')), /without port 0/)
  const asNode = (settings: Record<string, string>) => start({ ...settings, HEADLAND_ROLES: 'node' })
  await assert.rejects(asNode({}), /The role node is for a machine without another role, and needs controlAddresses/)
  await assert.rejects(asNode({ HEADLAND_CONTROL_ADDRESSES: '127.0.0.1:1' }), /cluster token node NAME/)
  const ofEdge = `edge:a:${'A'.repeat(43)}`
  const node = { HEADLAND_CONTROL_ADDRESSES: '127.0.0.1:1', HEADLAND_CLUSTER_TOKEN: ofEdge }
  await assert.rejects(asNode(node), /is for the role edge, and not for node/)
})

test('a token is made for roles of other machines, under names of machines', async (t) => {
  const { operator } = await startService(t, { settings: { HEADLAND_ROLES: 'agent,control' } })
  await assert.rejects(operator('cluster', 'token', 'control', 'a'), /ROLE is one of: edge, node/)
  await assert.rejects(operator('cluster', 'token', 'edge', 'No Name'), /NAME: a name has 1 to 63/)
  assert.equal(await operator('cluster', 'token', 'edge', 'a'), await operator('cluster', 'token', 'edge', 'a'))
  assert.match(await operator('cluster', 'token', 'node', 'a'), /^node:a:[\w-]{43}$/)
})
