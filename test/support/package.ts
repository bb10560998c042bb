/** The package, packed from a copy of this checkout and installed into an empty folder, as a new user would. */
import { execFile } from 'node:child_process'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from './folder.ts'
import { TIMEOUT_MS } from './until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The parts of the checkout from which the package is made. Its own `dist/` is not among them, nor are its tests. */
const MATERIAL = [
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'],
  ...['README.md', 'CHANGELOG.md', 'LICENSE'],
  ...['bin', 'docs', 'examples/node-server', 'examples/welcome', 'integrations', 'portal', 'scripts', 'src'],
]

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

export async function installPackage(t: Scope): Promise<Installed> {
  const machines = pathWithoutCheckout()
  const workbench = await temporaryFolder(t)
  const { files, file } = await pack(workbench)
  const home = join(workbench, 'home')
  await mkdir(home)
  // With a prefix, since otherwise npm uses the nearest parent folder that looks like a project.
  await npm(home, ['install', '--prefix', home, '--no-audit', '--no-fund', file], machines)
  const bin = join(home, 'node_modules', '.bin')
  return {
    files,
    folder: join(home, 'node_modules', 'headland'),
    command: join(bin, 'headland'),
    path: { ours: [bin, machines].join(delimiter), machines },
  }
}

async function pack(workbench: string): Promise<{ files: string[]; file: string }> {
  const copy = join(workbench, 'copy')
  for (const name of MATERIAL) await cp(join(ROOT, name), join(copy, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const output = await npm(copy, ['pack', '--json', '--pack-destination', workbench], process.env.PATH)
  // The output of the build comes before the JSON.
  const [packed] = JSON.parse(output.slice(output.indexOf('[\n')))
  return { files: packed.files.map(({ path }: { path: string }) => path), file: join(workbench, packed.filename) }
}

async function npm(cwd: string, args: string[], path: string | undefined): Promise<string> {
  const options = { cwd, env: { ...process.env, PATH: path }, timeout: TIMEOUT_MS, maxBuffer: 2 ** 24 }
  return (await promisify(execFile)('npm', args, options)).stdout
}

/** `npm test` puts the checkout's own programs first, its Node among them. */
const pathWithoutCheckout = (): string =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)
