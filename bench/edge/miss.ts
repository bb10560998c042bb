/** What a response costs that is fetched from the origin and stored, beside nginx with and without a cache. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Bench } from '../bench.ts'
import { inTurns, TURNS } from '../rounds.ts'
import { temporaryFolder } from '../service.ts'
import { startEdgeBefore, startOrigin } from './edge.ts'
import { startNginx } from './nginx.ts'

const PAGE_BYTES = 10 * 1024
/** A miss runs through much code, and it takes tens of thousands of them until all of it is compiled. */
const WARM_UP_SECONDS = 15

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
  what: 'pages of 10 KiB that were never requested before, each of which is stored, beside nginx before the same origin',
  noise: TURNS,
  async run() {
    await using folder = await temporaryFolder()
    const nginxFolder = join(folder.path, 'nginx')
    const script = join(folder.path, 'never-twice.lua')
    await mkdir(nginxFolder)
    await writeFile(script, NEVER_TWICE)
    await using origin = await startOrigin(PAGE_BYTES)
    await using edge = await startEdgeBefore(folder.path, origin)
    const kept = 'proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";'
    await using nginx = await startNginx({
      folder: nginxFolder,
      http: `upstream origin { server ${origin.host}:${origin.port}; keepalive 128; keepalive_requests 1000000; }`,
      servers: {
        stored: `location / { ${kept} proxy_cache objects; }`,
        kept: `location / { ${kept} }`,
        // The default of nginx: a connection to the origin for each request.
        plain: `location / { proxy_pass http://${origin.host}:${origin.port}; }`,
      },
    })

    const { pid, urls } = nginx
    const peers = { stored: { pid, url: urls.stored }, kept: { pid, url: urls.kept }, plain: { pid, url: urls.plain } }
    const cost = await inTurns({ ours: edge, ...peers }, { script, warmUpSeconds: WARM_UP_SECONDS })
    const answer = await fetch(`${edge.url}/once`)
    assert.match(answer.headers.get('cache-status') ?? '', /stored/, 'our cache stores what it fetched')
    const beside = (peer: keyof typeof peers) => ({
      unit: 'µs',
      ours: cost.ours.cpuMicrosecondsPerRequest,
      peer: cost[peer].cpuMicrosecondsPerRequest,
    })
    return [
      { what: 'CPU per miss, stored by both', ...beside('stored'), goal: { of: 'ratio', max: 1.5 } },
      { what: 'CPU per miss, nginx stores nothing', ...beside('kept') },
      { what: 'CPU per miss, nginx stores nothing and connects anew', ...beside('plain') },
    ]
  },
}
