/** Bundles the programs that `bin/headland.js` runs, so that a start loads a few files instead of some hundred. */
import { join, relative } from 'node:path'
import type { Plugin } from 'rolldown'

type Bundling = {
  /** The folder of the modules: `src` or `dist`. */
  from: string
  /** The folder of the bundle, which is emptied. */
  to: string
  /** Packages that are loaded from `node_modules`, by name; or all of them. */
  external: 'all' | readonly string[]
}

/** The modules that a module imports, by their files: at its start, or later. */
export type Imports = Map<string, { static: readonly string[]; dynamic: readonly string[] }>

export async function bundlePrograms({ from, to, external }: Bundling): Promise<Imports> {
  // Not there after `npm ci --omit=dev`.
  const { rolldown } = await import('rolldown')
  const imports: Imports = new Map()
  const extension = from.endsWith('dist') ? 'js' : 'ts'
  const build = await rolldown({
    input: {
      'command-line': join(from, `command-line.${extension}`),
      role: join(from, 'processes', `role.${extension}`),
    },
    platform: 'node',
    external: external === 'all' ? (id) => !/^[./\0]/.test(id) && id !== HTTP : [...external],
    plugins: [lightHttp(), keepAddresses(to), listImports(from, imports)],
  })
  await build.write({ dir: to, format: 'esm', minify: false, cleanDir: true, chunkFileNames: '[name]-[hash].js' })
  return imports
}

const HTTP = 'node:http'
const LIGHT_HTTP = `\0light-${HTTP}`

/**
 * An import of `node:http` reads all its properties, some of which load what `fetch` is made of when they are read: 40 ms of CPU
 * time at each start of each process. This takes it without them. A program that imports one of these by its name is not bundled.
 */
function lightHttp(): Plugin {
  return {
    name: 'light-http',
    // `require` does not read them.
    resolveId: (id, _importer, { kind }) => (id === HTTP && kind === 'import-statement' ? LIGHT_HTTP : undefined),
    load(id) {
      if (id !== LIGHT_HTTP) return undefined
      const properties = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule(HTTP)))
      const names = properties.filter(([, { get }]) => !get).map(([name]) => name)
      return `const http = process.getBuiltinModule('${HTTP}')\nexport default http\nexport const { ${names} } = http`
    },
  }
}

/** A module finds files beside itself by its address, so each keeps its own. All files of a bundle are in one folder. */
function keepAddresses(to: string): Plugin {
  return {
    name: 'keep-addresses',
    transform(code, id) {
      const address = `new URL(${JSON.stringify(relative(to, id))}, import.meta.url).href`
      return code.includes('import.meta.url') ? code.replaceAll('import.meta.url', address) : undefined
    },
  }
}

/** Packages have a list of their own, that of npm. */
function listImports(from: string, imports: Imports): Plugin {
  const isOurs = (id: string) => id.startsWith(`${from}/`)
  return {
    name: 'list-imports',
    moduleParsed({ id, importedIds, dynamicallyImportedIds }) {
      if (!isOurs(id)) return
      imports.set(id, { static: importedIds.filter(isOurs), dynamic: dynamicallyImportedIds.filter(isOurs) })
    },
  }
}
