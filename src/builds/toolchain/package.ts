/** A fetched package of a tool: its commands, and the versions of Node that they need. */
import { link, open, readFile, rm } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import semver from 'semver'
import type { Tool } from './exact.ts'

export type Described = {
  version: string
  /** Each command and its file, relative to the folder of the package. */
  commands: Record<string, string>
  /** `engines.node`, as a range. */
  node: string
}

/** From its package.json. */
export async function describe(root: string, name: Tool['name']): Promise<Described> {
  const { version, bin, engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    // Older packages of Node write `v18.20.8`.
    version: semver.valid(version) ?? String(version),
    commands: commandsOf(name, bin),
    node: typeof engines?.node === 'string' ? engines.node : '*',
  }
}

function commandsOf(name: Tool['name'], bin: unknown): Record<string, string> {
  // Packages with the binary for one platform declare no commands. Bun acts by the name it is called by.
  if (name === 'bun') return { bun: 'bin/bun', bunx: 'bin/bun' }
  if (name === 'node') return { node: 'bin/node' }
  const given: Record<string, unknown> = typeof bin === 'string' ? { [name]: bin } : Object(bin)
  const inside = Object.entries(given).map(([command, file]): [string, string] => [command, normalize(String(file))])
  return Object.fromEntries(inside.filter(([command, file]) => isName(command) && file.split('/').every(isName)))
}

/** A plain name without a path. */
const isName = (text: string): boolean => /^[\w@+-][\w.@+-]*$/.test(text)

/**
 * From version 12 on pnpm is a native program in a package for each platform, which an install script links to the commands.
 * Install scripts are not run here. The program acts by the name of its file, so a symbolic link would not work.
 */
export async function placeNativePnpm(modules: string, arch: string): Promise<void> {
  const root = join(modules, 'pnpm')
  const { optionalDependencies = {} } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  for (const native of [`@pnpm/exe.linux-${arch}`, `@pnpm/exe.linux-${arch}-musl`]) {
    if (optionalDependencies[native] === undefined || !(await isProgram(join(modules, native, 'pnpm')))) continue
    for (const file of Object.values((await describe(root, 'pnpm')).commands)) {
      await rm(join(root, file))
      await link(join(modules, native, 'pnpm'), join(root, file))
    }
    return
  }
}

/** Whether the kernel can run it: it is an ELF file or has a `#!` line. */
export async function isProgram(file: string): Promise<boolean> {
  const start = await firstBytes(file)
  return start?.startsWith('#!') === true || start === ELF
}

/** Whether it is a script for the `node` in PATH. */
export const isNodeScript = async (file: string): Promise<boolean> =>
  /^#!\S*\bnode\b|^#!\S*\benv (-S )?node\b/.test((await firstBytes(file, 64)) ?? '')

const ELF = '\u{7f}ELF'

async function firstBytes(path: string, length = 4): Promise<string | undefined> {
  const file = await open(path).catch((error) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
  })
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0)
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await file.close()
  }
}
