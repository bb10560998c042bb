/**
 * Replaces the exports of an installed package: its files are replaced in the layer of this build, and no file of the app is
 * changed. Its types stay, so that type checking has the same result.
 *
 * Arguments: the kind of the package, its name, the name of its replacement, and the folder with the replacement.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { folderOf, manifestIn } from './find.mjs'

const HERE = import.meta.dirname ?? new URL('.', import.meta.url).pathname
const [kind, replaced, by, fetched] = process.argv.slice(2)
const modules = join(process.cwd(), 'node_modules')

/** The export paths of adapters: the package itself, and the targets in older versions. */
const ENTRIES = ['.', './serverless', './static', './edge', './functions', './edge-functions', './vite']

const folder = folderOf(replaced)
if (folder === undefined) fail(`${replaced} is not installed.`)
if (fetched !== undefined) copyPackage()
const files = new Set(ENTRIES.map((entry) => fileOf(entry)).filter((file) => file !== undefined))
if (files.size === 0) fail(`${replaced} has no file to be imported.`)
for (const file of files) replace(file)

/** With its dependencies inside of it, so that other packages of the app find the same versions as before. */
function copyPackage() {
  const target = join(modules, by)
  mkdirSync(dirname(target), { recursive: true })
  cpSync(join(fetched, 'node_modules', by), target, { recursive: true })
  for (const name of packagesIn(join(fetched, 'node_modules'))) {
    if (name !== by)
      cpSync(join(fetched, 'node_modules', name), join(target, 'node_modules', name), { recursive: true })
  }
}

function packagesIn(parent) {
  const names = readdirSync(parent).filter((name) => !name.startsWith('.'))
  return names.flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(parent, name)).map((inner) => `${name}/${inner}`) : [name],
  )
}

/** The file that Node imports for an entry of the package. */
function fileOf(entry) {
  const { exports, main = 'index.js' } = manifestIn(folder)
  const isPlain = typeof exports === 'string' || !Object.keys(exports ?? {}).some((key) => key.startsWith('.'))
  const target = isPlain ? (entry === '.' ? (exports ?? main) : undefined) : exports[entry]
  const path = chosen(target)
  const file = path === undefined ? undefined : join(folder, path)
  return file?.startsWith(`${folder}/`) && existsSync(file) ? file : undefined
}

function chosen(target) {
  if (typeof target === 'string') return /\.m?js$/.test(target) ? target : undefined
  const conditions = ['node', 'import', 'module', 'default'].filter((condition) => Object(target)[condition])
  return conditions.map((condition) => chosen(target[condition])).find((path) => path !== undefined)
}

/** Never in place: the file may be a hard link to one in the package manager's store. */
function replace(file) {
  if (kind === 'nitro') return wrap(file)
  const own = join(modules, '.headland', `${kind}.mjs`)
  mkdirSync(dirname(own), { recursive: true })
  cpSync(join(HERE, `${kind}.mjs`), own)
  rmSync(file)
  writeFileSync(file, `export { default } from ${JSON.stringify(own)}\n`)
}

/** Wraps a plugin of Nitro for Vite, with another preset. */
function wrap(file) {
  const original = file.replace(/\.(m?js)$/, '.headland.$1')
  renameSync(file, original)
  writeFileSync(
    file,
    `import * as plugin from ${JSON.stringify(original)}
export * from ${JSON.stringify(original)}
const withPreset = (make) => make && ((options) => make({ ...options, preset: ${JSON.stringify(by)} }))
export const nitro = withPreset(plugin.nitro)
export const nitroV2Plugin = withPreset(plugin.nitroV2Plugin)
export default withPreset(plugin.default)
`,
  )
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
