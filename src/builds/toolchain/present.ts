/**
 * A combination of tools as builds and apps see it: their commands in one folder, and their packages beside it. Everything is
 * mounted read-only, at the same path for all tenants.
 */
import { createHash } from 'node:crypto'
import { access, chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mount } from '../../engines/index.ts'
import { fits } from './choose.ts'
import { putInPlace } from './drafts.ts'
import type { OwnNode } from './machine.ts'
import { type Described, isNodeScript } from './package.ts'

export const INSIDE = { bin: '/headland/bin', lib: '/headland/lib' } as const

/** A package with its commands, and where it is mounted. */
export type Part = Described & {
  /** The folder that is mounted. */
  from: string
  /** The path inside the sandbox. */
  to: string
  /** The package, relative to `from`; empty when it is the same. */
  root: string
}

type Command = { link: string } | { script: string }

type Given = {
  folder: string
  isIsolating: boolean
  node: { version: string; binary: string; mount: Mount }
  own: OwnNode
  /** Commands of later parts replace those of earlier ones. */
  parts: readonly Part[]
}

export async function present({ folder, isIsolating, node, own, parts }: Given): Promise<Mount[]> {
  const ownMount: Mount = { from: own.binary, to: `${INSIDE.lib}/service-node/bin/node`, isWritable: false }
  const commands: Record<string, Command> = {
    node: { link: isIsolating ? `${INSIDE.lib}/node/bin/node` : node.binary },
  }
  let needsOwn = false
  for (const part of parts) {
    // In a sandbox links lead to the mounts; without one, to the real folders.
    const root = join(isIsolating ? part.to : part.from, part.root)
    const byOwn = !fits(node.version, part.node) && fits(own.version, part.node)
    for (const [name, file] of Object.entries(part.commands)) {
      if (byOwn && (await isNodeScript(join(part.from, part.root, file)))) {
        needsOwn = true
        commands[name] = { script: runBy(isIsolating ? ownMount.to : own.binary, join(root, file), node.version) }
      } else commands[name] = { link: join(root, file) }
    }
  }
  const mounts = parts.map(({ from, to }): Mount => ({ from, to, isWritable: false }))
  return [
    { from: await makeFolder(folder, commands), to: INSIDE.bin, isWritable: false },
    node.mount,
    ...(needsOwn ? [ownMount] : []),
    ...mounts,
  ]
}

/**
 * A tool that does not run on the app's Node runs on the service's. Programs that it starts are found in PATH and still run on
 * the app's Node; the variable makes pnpm compare the `engines` of packages with the app's Node.
 */
const runBy = (node: string, script: string, appNode: string): string =>
  `#!/bin/sh\npnpm_config_node_version=${appNode} exec ${quote(node)} ${quote(script)} "$@"\n`

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Named by a digest of its content, so that a folder in use never changes. */
async function makeFolder(folder: string, commands: Record<string, Command>): Promise<string> {
  const sorted = Object.entries(commands).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const key = createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16)
  const place = join(folder, `bin-${key}`)
  if (await exists(place)) return place
  await putInPlace(place, async (draft) => {
    await mkdir(draft)
    await chmod(draft, 0o755)
    for (const [name, command] of sorted) {
      if ('link' in command) await symlink(command.link, join(draft, name))
      else {
        await writeFile(join(draft, name), command.script)
        await chmod(join(draft, name), 0o755)
      }
    }
  })
  return place
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
