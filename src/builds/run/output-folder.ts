/** Finds the output of a build and collects it in one folder. */
import { dirname, join } from 'node:path'
import { Problem } from '../../contract/index.ts'
import type { Plan, ServerOutput, StaticOutput } from '../plan/plan.ts'
import { type Runner, runHelper, tryHelper } from './step.ts'
import { isAnythingIn, isEmpty, isFolderIn } from './untrusted-folder.ts'
import { type View, WORK, type Workspace } from './workspace.ts'

/** The folders to keep. For an app that needs everything, `files` has the changes of the build, as an overlay over `source`. */
export type OutputFolders = { files: string; source?: string }

type Parts = { plan: Plan; workspace: Workspace; view: View; deadlineMs: number }

export async function findOutput(runner: Runner, parts: Parts): Promise<OutputFolders> {
  const { output } = parts.plan
  return output.kind === 'server' ? serverOutput(runner, parts, output) : staticOutput(runner, parts, output)
}

/** Copies a folder behind a link, if it is inside the app. The script is constant: paths are its arguments. */
const COPY_BEHIND_LINK =
  'top=$(realpath "$1") && case "$(realpath "$2")" in "$top" | "$top"/*) cp -aT "$2/." "$3";; *) exit 1;; esac'

async function serverOutput(runner: Runner, parts: Parts, output: ServerOutput): Promise<OutputFolders> {
  const { workspace, view } = parts
  const { folder, copies, writable } = output
  const root = join(WORK, parts.plan.rootDirectory)
  const run = (...argv: string[]) => runHelper(runner, { argv, cwd: root, view, deadlineMs: parts.deadlineMs })
  if (folder !== '.' && !(await layersWith(parts, folder))) throw noOutput([folder])
  for (const { from, to } of copies) {
    if (!(await layersWith(parts, from))) continue
    await run('mkdir', '-p', '--', dirname(to))
    await run('cp', '-aT', '--', from, to)
  }
  // A folder that is mounted writable at run time must exist as a mount point.
  if (writable.length > 0) await run('mkdir', '-p', '--', ...writable.map((name) => join(folder, name)))
  if (folder !== '.') {
    const files = await collected(runner, parts, folder)
    if (files === undefined) throw noOutput([folder])
    return { files }
  }
  const [files = '', ...below] = view.layers
  return below.length === 0 ? { files } : { files, source: workspace.source }
}

async function staticOutput(runner: Runner, parts: Parts, output: StaticOutput): Promise<OutputFolders> {
  const looked = [output.folder, ...output.candidates]
  for (const candidate of looked) {
    const files = await collected(runner, parts, candidate)
    if (files === undefined) continue
    if (looked.length === 1 ? await isEmpty(files) : !(await isAnythingIn(files, 'index.html'))) continue
    if (looked.length > 1) runner.log.say('BUILDING', `The output is in ${candidate}.`)
    return { files }
  }
  throw noOutput(looked)
}

/** The layers that have a part of a folder; undefined when it is no folder, or a link is on the path. */
async function layersWith(parts: Parts, folder: string): Promise<string[] | undefined> {
  const path = inRoot(parts, folder)
  const found: string[] = []
  for (const layer of parts.view.layers) {
    if (await isFolderIn(layer, path)) found.push(layer)
    // A link or a file in an upper layer hides the layers below.
    else if (await isHidden(layer, path)) break
  }
  return found.length > 0 ? found : undefined
}

async function isHidden(layer: string, path: string): Promise<boolean> {
  const steps = path.split('/')
  for (let count = 1; count <= steps.length; count++) {
    const part = steps.slice(0, count).join('/')
    if (!(await isAnythingIn(layer, part))) return false
    if (!(await isFolderIn(layer, part))) return true
  }
  return false
}

/** A folder in a single layer is used as it is; one in several layers, or behind a link, is copied together. */
async function collected(runner: Runner, parts: Parts, folder: string): Promise<string | undefined> {
  const path = inRoot(parts, folder)
  const [only, ...more] = (await layersWith(parts, folder)) ?? []
  if (only !== undefined && more.length === 0) return join(only, path)
  if (only === undefined && !(await isLinked(parts, path))) return undefined
  const merged = await parts.workspace.makeFolder('output')
  const mounts = [{ from: merged, to: '/output', isWritable: true }]
  const argv = ['sh', '-c', COPY_BEHIND_LINK, 'sh', WORK, join(WORK, path), '/output']
  const step = { argv, cwd: WORK, view: parts.view, mounts, deadlineMs: parts.deadlineMs }
  return (await tryHelper(runner, step)) ? merged : undefined
}

/** Whether the path may lead through a link. */
async function isLinked({ view }: Parts, path: string): Promise<boolean> {
  for (const layer of view.layers) if (await isHidden(layer, path)) return true
  return false
}

const inRoot = ({ plan }: Parts, folder: string): string => join(plan.rootDirectory, folder)

const noOutput = (looked: readonly string[]): Problem =>
  new Problem('NO_OUTPUT', `The build succeeded, but left nothing in ${looked.join(', ')}.`, {
    metadata: { looked: looked.join(', ') },
  })
