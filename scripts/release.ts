/**
 * Makes a release of the commit that is checked out, in `release/`: the package, the list of what it consists of, checksums of both
 * and, with a key, a signature of the checksums.
 *
 *   npm run release -- --key ~/.ssh/id_ed25519     the key has to be one of `release-signers`
 *   npm run release                                without a signature
 *   --into FOLDER                                  instead of `release/`
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Lockfile } from './release/lockfile.ts'
import { SIGNERS, sign } from './release/sign.ts'

const TOP = fileURLToPath(new URL('..', import.meta.url))
const SUMS = 'SHA256SUMS'

const { key, into } = parseArgs({
  options: { key: { type: 'string' }, into: { type: 'string', default: join(TOP, 'release') } },
}).values

const folder = resolve(into)
const workbench = mkdtempSync(join(tmpdir(), 'headland-release-'))
try {
  release()
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`)
  process.exitCode = 1
} finally {
  rmSync(workbench, { recursive: true, force: true })
}

function release() {
  checkPackages()
  const clone = join(workbench, 'headland')
  // Of a clone, so that nothing is in the package which is not in the commit.
  run('git', ['clone', '--quiet', '--no-hardlinks', TOP, clone])
  const { version } = readJson(join(clone, 'package.json'))
  if (!readFileSync(join(clone, 'CHANGELOG.md'), 'utf8').includes(`\n## ${version} - `))
    throw new Error(`CHANGELOG.md has no part for ${version} in the commit.`)
  symlinkSync(join(TOP, 'node_modules'), join(clone, 'node_modules'))
  const commit = run('git', ['-C', clone, 'rev-parse', 'HEAD']).trim()
  if (run('git', ['-C', TOP, 'status', '--porcelain']) !== '')
    process.stderr.write('release: there are changes that are not committed, and they are not in it.\n')

  mkdirSync(folder, { recursive: true })
  // What npm would run, without the bundle of a checkout, which is not packed.
  run(process.execPath, [join(clone, 'scripts', 'prepack.ts')], clone)
  const packed = run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], clone)
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n')))
  const sbom = `headland-${version}.cdx.json`
  copyFileSync(join(clone, 'dist', 'sbom.cdx.json'), join(folder, sbom))
  writeFileSync(
    join(folder, SUMS),
    [filename, sbom].map((name) => `${digestOf(join(folder, name))}  ${name}\n`).join(''),
  )
  rmSync(join(folder, `${SUMS}.sig`), { force: true })
  if (key !== undefined) sign({ file: join(folder, SUMS), key: resolve(key), signers: join(clone, SIGNERS) })
  process.stdout.write(`Headland ${version} of commit ${commit}, in ${folder}${key ? '' : ', not signed'}:\n`)
  process.stdout.write(readFileSync(join(folder, SUMS)))
}

/** The programs that make the package are those of the lockfile, or its bytes are not those that others get. */
function checkPackages() {
  const wanted: Lockfile['packages'] = readJson(join(TOP, 'package-lock.json')).packages
  const there: Lockfile['packages'] = readJson(join(TOP, 'node_modules', '.package-lock.json')).packages
  for (const [path, { version }] of Object.entries(there))
    if (wanted[path]?.version !== version) throw new Error(`${path} is not that of package-lock.json: run npm ci.`)
}

function run(program: string, args: readonly string[], cwd = TOP): string {
  return execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  })
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
