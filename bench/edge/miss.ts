/** What a response costs that is fetched from the origin, stored and not, beside nginx with and without a cache. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench, Result } from '../bench.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { temporaryFolder } from '../service.ts'
import { startEdgeBefore, startFloor, startOrigin } from './edge.ts'
import { startNginx } from './nginx.ts'
import type { Origin } from './other-caches.ts'

const PAGE_BYTES = 10 * 1024
/** A miss runs through much code, and it takes tens of thousands of them until all of it is compiled. */
const WARM_UP_SECONDS = 15
const WARM_UP_REQUESTS = 40_000

/** No address twice. */
const NEVER_TWICE = `
local prefix, count = '', 0
init = function(args) prefix = args[1] end
request = function()
  count = count + 1
  return wrk.format('GET', '/' .. prefix .. '/' .. count)
end
`

export const edgeMiss: Bench = {
  name: 'edge-miss',
  what: 'pages of 10 KiB that were never requested before, stored and not, beside nginx before the same origin',
  noise: TURNS,
  run: async () => [...(await compareStored()), ...(await comparePassed())],
}

async function compareStored(): Promise<Result[]> {
  await using folder = await temporaryFolder()
  const nginxFolder = join(folder.path, 'nginx')
  const script = join(folder.path, 'never-twice.lua')
  await mkdir(nginxFolder)
  await writeFile(script, NEVER_TWICE)
  await using origin = await startOrigin(PAGE_BYTES)
  await using edge = await startEdgeBefore(folder.path, origin)
  await using nginx = await startNginx({
    folder: nginxFolder,
    http: upstreamOf(origin),
    servers: {
      stored: `location / { ${KEPT} proxy_cache objects; }`,
      kept: `location / { ${KEPT} }`,
      // The default of nginx: a connection to the origin for each request.
      plain: `location / { proxy_pass http://${origin.host}:${origin.port}; }`,
    },
  })

  const { pid, urls } = nginx
  const peers = { stored: { pid, url: urls.stored }, kept: { pid, url: urls.kept }, plain: { pid, url: urls.plain } }
  const cost = await inTurns(
    { ours: edge, ...peers },
    { script, warmUpSeconds: WARM_UP_SECONDS, warmUpRequests: WARM_UP_REQUESTS },
  )
  const answer = await fetch(`${edge.url}/once`)
  assert.match(answer.headers.get('cache-status') ?? '', /stored/, 'our cache stores what it fetched')
  const beside = (peer: keyof typeof peers) => ({
    unit: 'µs',
    ours: cost.ours.cpuMicrosecondsPerRequest,
    peer: cost[peer].cpuMicrosecondsPerRequest,
  })
  return [
    { what: 'CPU per miss, stored by both', ...beside('stored'), goal: { of: 'ratio', max: 0.8 } },
    { what: 'CPU per miss, nginx stores nothing', ...beside('kept') },
    { what: 'CPU per miss, nginx stores nothing and connects anew', ...beside('plain') },
  ]
}

/** The page is for one client, as most answers of an API are. */
async function comparePassed(): Promise<Result[]> {
  await using folder = await temporaryFolder()
  const nginxFolder = join(folder.path, 'nginx')
  const script = join(folder.path, 'never-twice.lua')
  await mkdir(nginxFolder)
  await writeFile(script, NEVER_TWICE)
  await using origin = await startOrigin(PAGE_BYTES, 'private, no-store')
  await using edge = await startEdgeBefore(folder.path, origin)
  await using nginx = await startNginx({
    folder: nginxFolder,
    http: upstreamOf(origin),
    servers: { kept: `location / { ${KEPT} }` },
  })
  await using bare = await startFloor('pass', origin.host, String(origin.port))
  const { ours, peer, floor } = await inTurns(
    { ours: edge, peer: { pid: nginx.pid, url: nginx.urls.kept }, floor: bare },
    { script, warmUpSeconds: WARM_UP_SECONDS, warmUpRequests: WARM_UP_REQUESTS },
  )
  const answer = await fetch(`${edge.url}/once`)
  assert.doesNotMatch(answer.headers.get('cache-status') ?? '', /stored/, 'nothing is stored')
  return [
    {
      what: 'CPU per response that is passed through',
      unit: 'µs',
      ours: ours.cpuMicrosecondsPerRequest,
      peer: peer.cpuMicrosecondsPerRequest,
      goal: { of: 'ratio', max: 3 },
    },
    {
      what: 'CPU per response that is passed through by the least that Node does',
      unit: 'µs',
      ours: floor.cpuMicrosecondsPerRequest,
      peer: peer.cpuMicrosecondsPerRequest,
    },
  ]
}

/** Connections to the origin are kept, which nginx does not do by itself. */
const KEPT = 'proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";'

const upstreamOf = ({ host, port }: Origin): string =>
  `upstream origin { server ${host}:${port}; keepalive 128; keepalive_requests 1000000; }`
