/** Clients get the same response from the fast path and from node:http: files and stored pages, in all encodings. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ask, type EdgeResponse, serverTarget, startTestEdge, startUpstream } from '../../../test/support/edge/edge.ts'
import { temporaryFolder } from '../../../test/support/folder.ts'
import { until } from '../../../test/support/until.ts'
import type { Target } from '../routes.ts'
import { compileRules } from '../rules/compile.ts'
import { createManifest, writeManifest } from '../static/manifest.ts'

const PAGE = '<p>a page</p>'.repeat(200)

const BROWSER = { 'accept-encoding': 'gzip, deflate, br, zstd' }

/** Requests as browsers, crawlers and scripts make them. */
const HEADERS: Record<string, string>[] = [
  {},
  BROWSER,
  { 'accept-encoding': 'gzip;q=1, br;q=0.5' },
  { 'accept-encoding': 'identity' },
  { 'if-none-match': '*' },
  { 'if-none-match': '"page"' },
  { 'if-none-match': 'W/"page"', 'accept-encoding': 'br' },
  { 'if-modified-since': 'Sun, 15 Nov 2026 00:00:00 GMT' },
  { range: 'bytes=0-9' },
  { range: 'bytes=99999-' },
  { range: 'bytes=-5', 'if-range': '"page"' },
  { cookie: 'a=1' },
  { cookie: 'a=1; __prerender_bypass=1' },
  { 'cache-control': 'no-cache' },
  { 'cache-control': 'only-if-cached' },
  { authorization: 'Basic YTpi' },
  { rsc: '1' },
  { 'x-forwarded-host': 'elsewhere.example' },
]

const PATHS = ['/', '/?a=1', '/page', '/missing', '/logo.svg', '/%70age']

const comparable = ({ status, headers, text }: EdgeResponse) => {
  const { date, age, 'cache-status': cacheStatus, ...rest } = headers
  return { status, rest, text, cacheStatus: String(cacheStatus).replace(/ttl=\d+/, 'ttl=…'), hasAge: age !== undefined }
}

async function compare(edges: readonly { port: number }[]) {
  // The first time it is fetched, the second time it is stored, the third time in every encoding that will be made.
  for (let round = 1; round <= 3; round++) {
    for (const path of PATHS) {
      for (const headers of HEADERS) {
        const [withFastPath, without] = await until(() => bothAnswers(path, headers))
        const asked = `${path} ${JSON.stringify(headers)} in round ${round}`
        assert.deepEqual(comparable(withFastPath as EdgeResponse), comparable(without as EdgeResponse), asked)
      }
    }
    await until(async () => (await bothAnswers('/', BROWSER))?.every(({ headers }) => headers['content-encoding']))
  }

  /**
   * Undefined while one of them still makes an encoding that the other one has: they are made in the background. A response
   * without a body shows it by its etag, which is a weak one for an encoded page.
   */
  async function bothAnswers(path: string, headers: Record<string, string>): Promise<EdgeResponse[] | undefined> {
    const asked = { path, headers: { connection: 'keep-alive', ...headers } }
    const answers = await Promise.all(edges.map(({ port }) => ask(port, asked)))
    const [one, other] = answers.map(({ headers: sent }) => `${sent['content-encoding']} ${sent.etag}`)
    return one === other ? answers : undefined
  }
}

async function compareTargets(t: TestContext, target: Target) {
  const hosts = { 'site.localhost': target }
  await compare([await startTestEdge(t, hosts), await startTestEdge(t, hosts, { hasFastPath: false })])
}

test('of an app whose pages are stored, with and without the fast path', async (t) => {
  const upstream = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 's-maxage=600', etag: '"page"' })
    response.end(PAGE)
  })
  await compareTargets(t, serverTarget(upstream.port))
})

test('of an app of a hidden environment, with and without the fast path', async (t) => {
  const upstream = await startUpstream(t, (request, response) => {
    const own = request.url === '/page' ? { 'x-robots-tag': 'nofollow' } : {}
    response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 's-maxage=600', etag: '"page"', ...own })
    response.end(PAGE)
  })
  await compareTargets(t, { ...serverTarget(upstream.port), access: { isHidden: true } })
})

const RULES = {
  _redirects: '/missing /page 200\n/ a=1 /page 200!',
  _headers: '/*\n X-Frame-Options: DENY\n Vary: Origin\n/page\n Cache-Control: no-cache\n! X-Frame-Options',
}

for (const texts of [{}, RULES]) {
  test(`of files ${texts === RULES ? 'with rules' : 'without rules'}, with and without the fast path`, async (t) => {
    const folder = join(await temporaryFolder(t), 'files')
    await mkdir(folder)
    await writeFile(join(folder, 'index.html'), PAGE)
    await writeFile(join(folder, 'page.html'), PAGE)
    await writeFile(join(folder, 'logo.svg'), '<svg/>')
    const variants = join(await temporaryFolder(t), 'edge')
    const { rules } = compileRules({ texts, basePath: '', allowedHosts: [] })
    await writeManifest(variants, await createManifest(folder, variants, { singlePage: false, rules }))
    const target: Target = {
      kind: 'static',
      environment: 'e1',
      deployment: 'd1',
      folder,
      manifest: join(variants, 'manifest.json'),
    }
    await compareTargets(t, target)
    await compareTargets(t, { ...target, access: { isHidden: true } })
  })
}
