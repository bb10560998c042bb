/**
 * Files of the service that Node loads ahead of an app (`--require`), where the build's plan or the environment asks for it by a
 * variable. The app's own files stay as they are. An app switches them off with the value `off` of the same variable.
 *
 * They are copied for each start, since the app's user must be able to read them, whatever rights the service's own files
 * have: Node refuses to start when it cannot load a file named by `--require`.
 */
import { chmod, copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTurns } from '../base/index.ts'
import type { Mount } from '../engines/index.ts'

/**
 * `oldestNode` is the version that the oldest supported framework version needs: on older ones the file is not loaded. The order
 * is that of loading: the second looks at caches which the first has wrapped.
 */
const HOOKS = [
  {
    ...{ variable: 'HEADLAND_NEXT_COHERENCE', folder: 'next', oldestNode: 18, isToldRevalidations: true },
    ...{ file: 'coherence.cjs', fileInImage: 'in-image.cjs' },
  },
  {
    ...{ variable: 'HEADLAND_CONTENT_TAGS', folder: 'content', oldestNode: 20, isToldRevalidations: false },
    ...{ file: 'content.cjs', fileInImage: 'in-image.cjs' },
  },
]
const SOURCE = fileURLToPath(new URL('./hooks', import.meta.url))
const INSIDE = '/headland/hooks'

/** Where the files are on this machine, and where in a sandbox or an image. */
export const HOOK_FILES = { from: SOURCE, to: INSIDE }

type Variables = Readonly<Record<string, string>>

const wantedBy = (variables: Variables) => HOOKS.filter(({ variable }) => (variables[variable] ?? 'off') !== 'off')

/** Whether an app with these variables is told what was revalidated. */
export const isToldRevalidations = (variables: Variables): boolean =>
  wantedBy(variables).some(({ isToldRevalidations }) => isToldRevalidations)

/** Without those of hooks that a version of Node cannot load. In an image, an older one would refuse to start with their options. */
export const variablesFor = (node: string, variables: Variables): Record<string, string> => {
  const tooNew = new Set(HOOKS.filter((hook) => isTooOld(node, hook)).map(({ variable }) => variable))
  return Object.fromEntries(Object.entries(variables).filter(([key]) => !tooNew.has(key)))
}

const isTooOld = (node: string, { oldestNode }: { oldestNode: number }): boolean =>
  Number.parseInt(node, 10) < oldestNode

export type Hooks = {
  mounts: readonly Mount[]
  /** For NODE_OPTIONS. */
  options: readonly string[]
}

export const NO_HOOKS: Hooks = { mounts: [], options: [] }

type HookOptions = {
  /** The version that the app runs on. */
  node: string
  variables: Readonly<Record<string, string>>
  /** A folder of the deployment. */
  runFolder: string
  /** Whether the app sees mounts; else it sees the machine's own paths. */
  isIsolating: boolean
  /** What was revalidated in the environment: the content of `expiries.json` beside the hook files. */
  expiries?(): Promise<string>
}

export async function openHooks({ node, variables, runFolder, isIsolating, expiries }: HookOptions): Promise<Hooks> {
  const mounts: Mount[] = []
  const options: string[] = []
  for (const hook of wantedBy(variables)) {
    if (isTooOld(node, hook)) continue
    const { folder, file, isToldRevalidations } = hook
    const from = join(runFolder, 'hooks', folder)
    await copyReadable(join(SOURCE, folder), from)
    if (expiries && isToldRevalidations) await writeExpiries(runFolder, expiries)
    if (isIsolating) mounts.push({ from, to: join(INSIDE, folder), isWritable: false })
    // Quoted as Node reads it: the data folder may have a space in its path.
    options.push(`--require=${JSON.stringify(join(isIsolating ? join(INSIDE, folder) : from, file))}`)
  }
  return { mounts, options }
}

type ImageHookOptions = Pick<HookOptions, 'variables'> & {
  /** What `HookOptions.expiries` returns: of it, only the times of the build stay the same. */
  expiries: string | undefined
}

/**
 * The variables by which an app loads the files from its image, on another machine than the service. What was revalidated comes
 * from the API for apps there.
 */
export function imageHookVariables({ variables, expiries }: ImageHookOptions): Record<string, string> {
  const wanted = wantedBy(variables).filter((hook) => !hook.isToldRevalidations || expiries !== undefined)
  if (wanted.length === 0) return {}
  const options = wanted.map(({ folder, fileInImage, isToldRevalidations }) => {
    const file = join(INSIDE, folder, fileInImage)
    return isToldRevalidations ? `--require=${file}` : importIfThere(file)
  })
  const { began = 0, ended = 0 } = JSON.parse(expiries ?? '{}')
  return {
    NODE_OPTIONS: [...(variables.NODE_OPTIONS ? [variables.NODE_OPTIONS] : []), ...options].join(' '),
    ...(isToldRevalidations(variables) && expiries !== undefined
      ? { HEADLAND_NEXT_BUILT: JSON.stringify({ began, ended }) }
      : {}),
  }
}

/** An image may be older than the file, and Node refuses to start when it cannot load one that is named by `--require`. */
function importIfThere(file: string): string {
  const code = `import{existsSync}from'node:fs';import{createRequire}from'node:module';if(existsSync('${file}'))createRequire('${file}')('${file}')`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

const inTurn = createTurns()

/**
 * Replaces the file as a whole, for a process that runs or is about to. Its content is read and written in turn, so that the
 * newest is always the last one written. Nothing is written for an app without hook files.
 */
export async function writeExpiries(runFolder: string, expiries: () => Promise<string>) {
  await inTurn(runFolder, async () => {
    for (const { folder } of HOOKS.filter(({ isToldRevalidations }) => isToldRevalidations)) {
      const file = join(runFolder, 'hooks', folder, 'expiries.json')
      try {
        await writeFile(`${file}.new`, await expiries(), { mode: 0o644 })
        await chmod(`${file}.new`, 0o644)
        await rename(`${file}.new`, file)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
    }
  })
}

async function copyReadable(from: string, to: string) {
  await mkdir(to, { recursive: true, mode: 0o755 })
  await chmod(join(to, '..'), 0o755)
  await chmod(to, 0o755)
  for (const name of await readdir(from)) {
    await copyFile(join(from, name), join(to, name))
    await chmod(join(to, name), 0o644)
  }
}
