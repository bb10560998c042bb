/**
 * Bundles the programs that `bin/headland.js` runs: what a process loads at its start is one file, and what it may load later is
 * in others. They are CommonJS: an import of a module of Node reads all its properties, some of which load what most processes
 * never use, such as what `fetch` is made of, and `require` reads none.
 */
import { rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Plugin } from 'rolldown'

type Bundling = {
  /** The folder of the modules: `src` or `dist`. */
  from: string
  /** The folder of the bundle, which is emptied. */
  to: string
  /** Packages that are loaded from `node_modules`, by name; or all of them. */
  external: 'all' | readonly string[]
}

const COMMAND_LINE = 'command-line'

/** The parts of the programs: one for each kind of process. */
export const PARTS = [COMMAND_LINE, 'agent', 'edge', 'control', 'worker', 'files', 'node'] as const

type Part = (typeof PARTS)[number]

/** These use nearly all modules, so looking for what they do not use saves nothing. */
const USES_NEARLY_ALL: readonly Part[] = ['control', 'worker']

/** The modules of each part. Packages have a list of their own, that of npm. */
export type Modules = Map<Part, readonly string[]>

export async function bundlePrograms(bundling: Bundling): Promise<Modules> {
  rmSync(bundling.to, { recursive: true, force: true })
  const modules: Modules = new Map()
  for (const part of PARTS) modules.set(part, await bundlePart(part, bundling))
  return modules
}

async function bundlePart(part: Part, { from, to, external }: Bundling): Promise<readonly string[]> {
  // Not there after `npm ci --omit=dev`.
  const { rolldown } = await import('rolldown')
  const extension = from.endsWith('dist') ? 'js' : 'ts'
  const start = join(from, `start-of-${part}.${extension}`)
  const isOurs = (id: string) => id.startsWith(`${from}/`) && id !== start
  const imports: Imports = new Map()
  const build = await rolldown({
    input: { [part]: start },
    // What a bundle says of its modules is by this folder, wherever this runs.
    cwd: dirname(from),
    platform: 'node',
    external: external === 'all' ? (id) => !/^[./\0]/.test(id) : [...external],
    // A module of ours only defines things, so one of which nothing is used is left out.
    treeshake: USES_NEARLY_ALL.includes(part) ? true : { moduleSideEffects: (id) => !isOurs(id) },
    checks: { ineffectiveDynamicImport: false },
    plugins: [
      startOf(part, { start, role: join(from, 'processes', `role.${extension}`), extension }),
      seeRequire(),
      keepAddresses(to),
      listImports(imports),
      writeAscii(),
    ],
  })
  const atStart = new Set<string>()
  const { output } = await build.write({
    dir: to,
    format: 'cjs',
    minify: false,
    comments: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name]-[hash].cjs',
    intro: ADDRESS_OF_FILE,
    codeSplitting: {
      groups: [
        {
          name: `${part}-start`,
          test(id) {
            if (atStart.size === 0) follow(start, { next: (one) => imports.get(one)?.static ?? [], into: atStart })
            return atStart.has(id)
          },
        },
      ],
    },
  })
  await build.close()
  const used = new Set(output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])))
  const madeOf = new Set<string>()
  // A module of which nothing is used may still name another one that is.
  const next = (id: string) => [
    ...(imports.get(id)?.static ?? []),
    ...(used.has(id) ? (imports.get(id)?.dynamic ?? []) : []),
  ]
  follow(start, { next, into: madeOf })
  return [...madeOf].filter(isOurs)
}

/** The modules that a module imports, by their files: at its start, or later. */
type Imports = Map<string, { static: readonly string[]; dynamic: readonly string[] }>

type Following = { next(id: string): readonly string[]; into: Set<string> }

function follow(id: string, { next, into }: Following) {
  if (into.has(id)) return
  into.add(id)
  for (const one of next(id)) follow(one, { next, into })
}

function writeAscii(): Plugin {
  return { name: 'write-ascii', renderChunk: (code) => ({ code: inAscii(code), map: null }) }
}

/**
 * The same program in ASCII: V8 keeps its text, in twice the memory where one character is of another alphabet. `String.raw` could
 * tell an escape from its character, so it has to do without.
 */
export function inAscii(code: string): string {
  const raw = /\.raw`[^`]*[^\0-\x7f][^`]*`/.exec(code)
  if (raw) throw new Error(`a character beyond ASCII in ${raw[0]}`)
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return code.replace(/\\[\0-\x7f]|\\?([^\0-\x7f])/g, (one, unit?: string) => (unit ? escaped(unit) : one))
}

function listImports(imports: Imports): Plugin {
  return {
    name: 'list-imports',
    moduleParsed({ id, importedIds, dynamicallyImportedIds }) {
      imports.set(id, { static: importedIds, dynamic: dynamicallyImportedIds })
    },
  }
}

/** The module that a part begins with. A role loads its own module at once, and never those of the others. */
function startOf(part: Part, { start, role, extension }: { start: string; role: string; extension: string }): Plugin {
  const text =
    part === COMMAND_LINE
      ? `export { run } from './command-line.${extension}'`
      : `export * from './processes/${part}.${extension}'\nexport { runRole } from './processes/role.${extension}'`
  return {
    name: 'start-of-part',
    resolveId(id, importer, { kind }) {
      if (id === start) return id
      const isOfRole = importer === role && kind === 'dynamic-import'
      return isOfRole && id !== `./${part}.${extension}` ? { id, external: true } : undefined
    },
    load: (id) => (id === start ? text : undefined),
  }
}

/** What a module requires late is bundled too, and still runs late: by a `require` that the bundler knows. */
function seeRequire(): Plugin {
  return {
    name: 'see-require',
    transform: (code) => (code.includes(OWN_REQUIRE) ? code.replace(OWN_REQUIRE, '') : undefined),
  }
}

const OWN_REQUIRE = 'const require = createRequire(import.meta.url)'

const ADDRESS_OF_FILE = "const BUNDLE_ADDRESS = require('node:url').pathToFileURL(__filename).href;"

/** A module finds files beside itself by its address, so each keeps its own. All files of a bundle are in one folder. */
function keepAddresses(to: string): Plugin {
  return {
    name: 'keep-addresses',
    transform(code, id) {
      const address = `new URL(${JSON.stringify(relative(to, id))}, BUNDLE_ADDRESS).href`
      return code.includes('import.meta.url') ? code.replaceAll('import.meta.url', address) : undefined
    },
  }
}
