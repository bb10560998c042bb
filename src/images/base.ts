/**
 * The lowest layer: the Node that the app runs on, the libraries that Node needs, a shell, certificates, and a server for
 * files. They are those of this machine, so that native packages find the libraries that they were built with.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { absent } from '../base/index.ts'
import { APP_USER } from './layers/entry.ts'
import { type Content, contentsOf, fileAt, folderEntry, foldersAbove, textEntry } from './layers/folder.ts'

/** A file or a folder of this machine, and its absolute path in the image. */
export type Tool = { from: string; to: string }

export type Base = {
  /** The same name means the same bytes, on this machine. */
  name: string
  contents(): AsyncIterable<Content>
}

/** Where the server for files is in the image. */
export const SERVE = '/headland/serve.mjs'
const SERVE_FILE = new URL('./serve.mjs', import.meta.url)

/**
 * Package commands begin with `#!/usr/bin/env node`, package managers run scripts by `sh`, `cp` copies what is initial, and `sleep`
 * is there for the first process of an app, which waits for requests in flight.
 */
const PROGRAMS = ['/bin/sh', '/usr/bin/env', '/bin/cp', '/bin/sleep']
/** Loaded by name while a program runs, so that no list of libraries has them. */
const LOADED_LATER = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2']
const TOP_LINKS = ['/bin', '/lib', '/lib64', '/sbin']
const CERTIFICATES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']

/** `node` is the program itself, among the tools. */
export async function baseOf(node: string, tools: readonly Tool[]): Promise<Base> {
  const files = await filesFor(node)
  const serve = await readFile(SERVE_FILE, 'utf8')
  const digest = createHash('sha256').update(serve)
  for (const { from, to } of [...tools, ...files]) await describe(from, to, digest)
  return { name: `base ${digest.digest('hex')}`, contents: () => once(all()) }

  async function* all(): AsyncGenerator<Content> {
    yield* texts(serve)
    for (const link of TOP_LINKS) {
      if ((await lstat(link).catch(absent))?.isSymbolicLink()) yield linkEntry(link, await readlink(link))
    }
    for (const { from, to } of files) yield* placed(from, to)
    for (const { from, to } of tools) {
      if ((await stat(from)).isDirectory()) yield* moved(contentsOf(from, { at: to.slice(1) }), tools)
      else yield* placed(from, to)
    }
  }
}

/** Libraries are found through links, and are placed where the links of the image lead to. */
async function filesFor(node: string): Promise<Tool[]> {
  const programs = await Promise.all(PROGRAMS.map(async (path) => (await stat(path).catch(absent)) && path))
  const wanted = programs.filter((path) => path !== undefined)
  const libraries = new Set<string>()
  for (const program of [node, ...wanted]) for (const path of await librariesOf(program)) libraries.add(path)
  const folder = dirname([...libraries].find((path) => basename(path) === 'libc.so.6') ?? '/lib/none')
  const certificates = await firstOf(CERTIFICATES)
  const paths = [...wanted, ...libraries, ...LOADED_LATER.map((name) => join(folder, name)), ...certificates]
  const found = new Map<string, Tool>()
  for (const path of paths) {
    if (!(await stat(path).catch(absent))) continue
    const to = path.startsWith('/etc/') ? path : join(await realpath(dirname(path)), basename(path))
    found.set(to, { from: await realpath(path), to })
  }
  return [...found.values()].toSorted((a, b) => (a.to < b.to ? -1 : 1))
}

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ldd', [await realpath(program)], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  }).catch((error) => {
    // It ends with 1 for a program that needs no library.
    if (/not a dynamic executable/.test(String(error.stderr))) return { stdout: '' }
    throw new Error(`The libraries of ${program} cannot be listed with ldd.`, { cause: error })
  })
  return [...stdout.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map(([, path = '']) => path)
}

async function firstOf(paths: readonly string[]): Promise<string[]> {
  for (const path of paths) if (await stat(path).catch(absent)) return [path]
  return []
}

function* texts(serve: string): Generator<Content> {
  yield* foldersAbove('etc/ssl/certs')
  const user = `app:x:${APP_USER}:${APP_USER}::/tmp:/bin/sh`
  yield textEntry('etc/passwd', `root:x:0:0:root:/root:/bin/sh\n${user}\n`)
  yield textEntry('etc/group', `root:x:0:\napp:x:${APP_USER}:\n`)
  yield textEntry('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n')
  yield folderEntry('tmp', 0o1777)
  yield folderEntry('app')
  yield folderEntry('headland')
  yield textEntry(SERVE.slice(1), serve)
}

async function* placed(from: string, to: string): AsyncGenerator<Content> {
  const path = to.slice(1)
  if (path.includes('/')) yield* foldersAbove(dirname(path))
  yield await fileAt(await realpath(from), { path, owner: 0 })
}

/** Links that lead to a tool of this machine lead to the same one in the image. */
async function* moved(contents: AsyncIterable<Content>, tools: readonly Tool[]): AsyncGenerator<Content> {
  for await (const content of contents) {
    const { to: target } = content.entry
    const tool = tools.find(({ from }) => target === from || target?.startsWith(`${from}/`))
    if (tool === undefined || target === undefined) yield content
    else yield { entry: { ...content.entry, to: tool.to + target.slice(tool.from.length) } }
  }
}

const linkEntry = (path: string, to: string): Content => ({
  entry: { path: path.slice(1), kind: 'symlink', mode: 0o777, owner: 0, size: 0, to },
})

/** Folders above several tools are named by each of them. */
async function* once(contents: AsyncIterable<Content>): AsyncGenerator<Content> {
  const seen = new Set<string>()
  for await (const content of contents) {
    if (seen.has(content.entry.path)) continue
    seen.add(content.entry.path)
    yield content
  }
}

/** By sizes and times: to read a hundred megabytes for each build would take longer than many builds. */
async function describe(from: string, to: string, digest: ReturnType<typeof createHash>) {
  const found = await lstat(from)
  digest.update(JSON.stringify([to, from, found.size, found.mtimeMs, found.mode]))
  if (!found.isDirectory()) return
  for (const name of (await readdir(from)).toSorted()) await describe(join(from, name), `${to}/${name}`, digest)
}
