/** A package registry without a network: the commands of its packages print their name and the Node that runs them. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Registry } from '../../../src/builds/toolchain/registry.ts'

type Published = Record<string, { versions: string[]; node?: string; peers?: Record<string, Record<string, string>> }>

const COMMANDS: Record<string, Record<string, string>> = {
  npm: { npm: 'bin/npm-cli.js', npx: 'bin/npx-cli.js' },
  pnpm: { pnpm: 'bin/pnpm.cjs', pnpx: 'bin/pnpx.cjs' },
  yarn: { yarn: './bin/yarn.js', yarnpkg: './bin/yarn.js' },
  '@yarnpkg/cli-dist': { yarn: 'bin/yarn.js', yarnpkg: 'bin/yarn.js' },
}

export function fakeRegistry(published: Published = {}) {
  const registry = {
    /** The requests, in order. */
    asked: [] as string[],
    fetched: [] as string[],
    /** Every call fails with this. */
    fault: undefined as Error | undefined,
    /** Called in the middle of a download, after half of it. */
    halfway: async (_signal: AbortSignal): Promise<void> => undefined,

    async versions(name) {
      registry.asked.push(name)
      if (registry.fault) throw registry.fault
      return published[name]?.versions ?? []
    },

    async published(name) {
      const { versions = [], peers = {} } = published[name] ?? {}
      registry.asked.push(name)
      if (registry.fault) throw registry.fault
      return versions.map((version) => ({ version, peers: peers[version] ?? {} }))
    },

    async fetch(name, version, folder, signal) {
      registry.fetched.push(`${name}@${version}`)
      if (registry.fault) throw registry.fault
      const root = join(folder, 'node_modules', name)
      const bin = COMMANDS[name] ?? { node: 'bin/node', bun: 'bin/bun' }
      for (const file of Object.values(bin)) {
        await write(join(root, file), `#!/usr/bin/env node\nconsole.log('${name} ${version} on ' + process.version)\n`)
      }
      await registry.halfway(signal)
      signal.throwIfAborted()
      const engines = { node: published[name]?.node ?? '*' }
      await write(
        join(root, 'package.json'),
        JSON.stringify({ name, version, bin, engines, peerDependencies: published[name]?.peers?.[version] }),
      )
    },
  } satisfies Registry & Record<string, unknown>
  return registry
}

async function write(file: string, text: string) {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  // With the modes that a service with a strict umask writes.
  await writeFile(file, text, { mode: 0o600 })
}
