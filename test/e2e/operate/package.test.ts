/** What `npm pack` makes, on a machine that has nothing but Node and npm: installed, started, used. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/folder.ts'
import { installPackage } from '../../support/package.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const { files, folder, command, path } = await installPackage({ after })
const dataDir = await temporaryFolder({ after })

const start = () => startService({ after }, { dataDir, command: [command], settings: { PATH: path.ours } })

const service = await start()
const as = await service.login()

test('the package contains the programs and the documentation', () => {
  for (const file of [
    'bin/headland',
    'dist/command-line.js',
    'dist/client/public.js',
    'dist/client/public.d.ts',
    'dist/engines/launch.mjs',
    'dist/storage/sql/sqlite-thread.mjs',
    'dist/runtime/hooks/next/coherence.cjs',
    'docs/operate/headland.service',
    'examples/node-server/server.js',
    'examples/welcome/build.js',
    'integrations/ci/deploy.js',
    'integrations/wordpress/headland/headland.php',
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
  ]) {
    assert.ok(files.includes(file), `${file} is missing`)
  }
})

test('the package contains one build of the portal, and no sources or tests', () => {
  const builds = files.flatMap((file) => /^portal\/dist\/([^/]+)\//.exec(file)?.[1] ?? [])
  assert.equal(new Set(builds).size, 1)
  assert.deepEqual(
    files.filter((file) =>
      /(?<!\.d)\.tsx?$|\.test\.|^(src|test|bench|scripts|portal\/(?!dist\/))\b|(^|\/)\.[^/]/.test(file),
    ),
    [],
  )
})

test('no compiled file starts a program or a thread by the name of its source', async () => {
  const compiled = files.filter((file) => /^dist\/.*js$/.test(file))
  const texts = await Promise.all(compiled.map((file) => readFile(join(folder, file), 'utf8')))
  assert.deepEqual(
    compiled.filter((_, index) => /\b(URL|import|fork|Worker)\(\s*['"`][^'"`]*\.ts['"`]/.test(texts[index] ?? '')),
    [],
  )
})

test('any Node of the machine starts it, and doctor reports what the machine can do', async () => {
  const env = { PATH: path.machines, HEADLAND_DATA_DIR: dataDir }
  const { stdout } = await promisify(execFile)(command, ['doctor', '--json'], { env }).catch((error) => error)
  const parts = new Map((JSON.parse(stdout) as { part: string; state: string }[]).map((row) => [row.part, row.state]))
  assert.equal(parts.get('node'), 'ok')
  assert.equal(parts.get('data folder'), 'ok')
})

test('a program imports the client of the API from the package, on any Node of the machine, and its types are there', async () => {
  const program = `
    import { createClient, HeadlandError } from 'headland/client'
    const client = createClient({ url: process.env.URL, authorization: { userId: process.env.ID, password: process.env.PASSWORD } })
    for await (const { name } of client.list('GET /v1/regions')) console.log(name)
    try { await createClient({ url: client.url }).call('GET /v1/accounts') } catch (error) {
      console.log(error instanceof HeadlandError, error.reason)
    }
  `
  const home = join(folder, '../..')
  const env = { PATH: path.machines, URL: service.api, ID: as.userId, PASSWORD: as.password }
  const options = { cwd: home, env, timeout: TIMEOUT_MS }
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', program], options)
  const lines = stdout.trim().split('\n')
  assert.equal(lines.length, 5)
  assert.equal(lines.at(-1), 'true CREDENTIALS_REQUIRED')

  const typed = `
    import { createClient, ENVIRONMENT } from 'headland/client'
    const path = { account: 'a', app: 'b', environment: 'c' }
    const { state }: { state: 'EMPTY' | 'LIVE' | 'DELETING' } = await createClient({ url: '' }).call(\`GET \${ENVIRONMENT}\`, { path })
    // @ts-expect-error there is no such route
    await createClient({ url: '' }).call('GET /v1/nothing')
    export { state }
  `
  await writeFile(join(home, 'typed.mts'), typed)
  const flags = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
    '--types',
    '',
    'typed.mts',
  ]
  await promisify(execFile)(join(import.meta.dirname, '../../../node_modules/.bin/tsc'), flags, { cwd: home })
})

test('the portal answers from the first moment, with its page and its scripts', async () => {
  const page = await (await fetch(service.api, { headers: { accept: 'text/html' } })).text()
  assert.match(page, /<div id="root">/)
  const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? []
  const answer = await fetch(`${service.api}${script}`)
  assert.match(answer.headers.get('content-type') ?? '', /^text\/javascript/)
})

test('the documentation comes with the package, and the service serves it', async () => {
  for (const path of ['/docs/', '/docs/guides/deploy', '/docs/troubleshooting/type-error', '/docs/changelog']) {
    const answer = await fetch(`${service.api}${path}`)
    assert.equal(answer.status, 200, path)
    assert.match(await answer.text(), /<h1/)
  }
})

test('an example is deployed by the command of the package, and its site is there again after a restart', async () => {
  const project = join(await temporaryFolder({ after }), 'my-site')
  await cp(join(folder, 'examples/node-server'), project, { recursive: true })
  const { stdout } = await promisify(execFile)(
    command,
    ['deploy', '--app', 'shop', '--region', 'EU-W', '--env', 'Production', '--cms', 'my-cms'],
    {
      cwd: project,
      env: {
        PATH: path.ours,
        HOME: project,
        HEADLAND_URL: service.api,
        HEADLAND_API_USER: as.userId,
        HEADLAND_API_PASSWORD: as.password,
      },
      timeout: TIMEOUT_MS,
    },
  )
  const url = stdout.trim().split('\n').at(-1) ?? ''
  assert.equal((await siteAnswer(service, url)).text, 'Hello from Node\n')
  assert.equal(await service.stop(), 0)

  const again = await start()
  const answer = await siteAnswer(again, url)
  assert.equal(answer.status, 200)
  assert.equal(answer.text, 'Hello from Node\n')
  assert.equal(await again.stop(), 0)
})
