/** A release, made of a commit of this checkout, and its package, installed into an empty folder as a new user would. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from './folder.ts'
import { TIMEOUT_MS } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The parts of the checkout from which the package is made. Its own `dist/` is not among them, nor are its tests. */
const MATERIAL = [
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', '.gitignore'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE'],
  ...['bin', 'docs', 'examples/node-server', 'examples/welcome', 'integrations', 'portal', 'scripts', 'src'],
]

export type Release = {
  /** The folder of the package, its SBOM, the checksums and their signature; and the keys that may sign. */
  folder: string
  package: string
  sbom: string
  /** A repository with one commit, of which it was made. */
  source: string
}

export type Installed = {
  /** The paths in the package. */
  files: string[]
  /** The folder of the installed package. */
  folder: string
  /** The command, as npm linked it. */
  command: string
  /** With the bundled Node first, as npx has it; and without it, with the Node of the machine. */
  path: { ours: string; machines: string }
}

/** Signed with a fresh key. */
export async function makeRelease(t: Scope): Promise<Release> {
  const workbench = await temporaryFolder(t)
  const [source, folder, key] = [join(workbench, 'source'), join(workbench, 'release'), join(workbench, 'key')]
  for (const name of MATERIAL) await cp(join(ROOT, name), join(source, name), { recursive: true })
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const signers = `headland namespaces="headland-release" ${await readFile(`${key}.pub`, 'utf8')}`
  await writeFile(join(source, 'release-signers'), signers)
  await run('git', ['init', '--quiet', source])
  await run('git', ['-C', source, 'add', '.'])
  const author = ['-c', 'user.name=Tests', '-c', 'user.email=tests@example.com', '-c', 'commit.gpgSign=false']
  await run('git', ['-C', source, ...author, 'commit', '--quiet', '--message', 'release'])
  await symlink(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  await run('npm', ['run', 'release', '--', '--key', key, '--into', folder], { cwd: source })
  await writeFile(join(folder, 'release-signers'), signers)
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  const fileOf = (ending: string) => join(folder, `headland-${version}.${ending}`)
  return { folder, source, package: fileOf('tgz'), sbom: fileOf('cdx.json') }
}

/** The package that `npm pack` makes of a clone of the same commit, in another folder, by somebody whose files nobody else may read. */
export async function packElsewhere(t: Scope, { source }: Release): Promise<string> {
  const clone = join(await temporaryFolder(t), 'another', 'folder')
  const privately = (program: string, args: string[], cwd: string) =>
    run('sh', ['-c', 'umask 077 && exec "$@"', 'sh', program, ...args], { cwd })
  await mkdir(dirname(clone))
  await privately('git', ['clone', '--quiet', source, clone], dirname(clone))
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  await privately('npm', ['pack'], clone)
  const [name = ''] = (await readdir(clone)).filter((file) => file.endsWith('.tgz'))
  return join(clone, name)
}

export async function installPackage(t: Scope, release: Release): Promise<Installed> {
  const machines = pathWithoutCheckout()
  const home = await temporaryFolder(t)
  // With a prefix, since otherwise npm uses the nearest parent folder that looks like a project.
  const args = ['install', '--prefix', home, '--no-audit', '--no-fund', release.package]
  await run('npm', args, { cwd: home, env: { ...process.env, PATH: machines } })
  const bin = join(home, 'node_modules', '.bin')
  const folder = join(home, 'node_modules', 'headland')
  return {
    files: await filesIn(folder),
    folder,
    command: join(bin, 'headland'),
    path: { ours: [bin, machines].join(delimiter), machines },
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

type Options = { cwd?: string; env?: NodeJS.ProcessEnv }

/** Resolves to what the program wrote. */
export async function run(program: string, args: readonly string[], options: Options = {}): Promise<string> {
  return (await promisify(execFile)(program, args, { ...options, timeout: TIMEOUT_MS, maxBuffer: 2 ** 24 })).stdout
}

/** `npm test` puts the checkout's own programs first, its Node among them. */
const pathWithoutCheckout = (): string =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)
