/** Finds what a build left, and puts it where it can be kept. */
import { dirname, join } from 'node:path'
import { Problem } from '../../contract/index.ts'
import type { Plan, ServerOutput, StaticOutput } from '../plan/plan.ts'
import { arrange, isArranged, type Runner } from './step.ts'
import { isAnythingIn, isEmpty, isFolderIn } from './untrusted-folder.ts'
import { type View, WORK, type Workspace } from './workspace.ts'

/** What is to be kept. An app that needs everything has its source apart, and what the build changed lies over it. */
export type OutputFolders = { files: string; source?: string }

type Parts = { plan: Plan; place: Workspace; view: View; deadlineMs: number }

export async function findOutput(runner: Runner, parts: Parts): Promise<OutputFolders> {
  const { output } = parts.plan
  return output.kind === 'server' ? serverOutput(runner, parts, output) : staticOutput(runner, parts, output)
}

/** A folder behind a link, as long as that is one of the app's own. Constant: paths are its arguments. */
const COPY_BEHIND_LINK =
  'top=$(realpath "$1") && case "$(realpath "$2")" in "$top" | "$top"/*) cp -aT "$2/." "$3";; *) exit 1;; esac'

async function serverOutput(runner: Runner, parts: Parts, output: ServerOutput): Promise<OutputFolders> {
  const { place, view } = parts
  const { folder, copies, writable } = output
  const root = join(WORK, parts.plan.rootDirectory)
  const run = (...argv: string[]) => arrange(runner, { argv, cwd: root, view, deadlineMs: parts.deadlineMs })
  if (folder !== '.' && !(await whereIs(parts, folder))) throw noOutput([folder])
  for (const { from, to } of copies) {
    if (!(await whereIs(parts, from))) continue
    await run('mkdir', '-p', '--', dirname(to))
    await run('cp', '-aT', '--', from, to)
  }
  // Where the app writes while it runs, something must be for the mount to cover.
  if (writable.length > 0) await run('mkdir', '-p', '--', ...writable.map((name) => join(folder, name)))
  if (folder !== '.') {
    const files = await collected(runner, parts, folder)
    if (files === undefined) throw noOutput([folder])
    return { files }
  }
  const [files = '', ...below] = view.layers
  return below.length === 0 ? { files } : { files, source: place.source }
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

/** The layers that have a part of a folder; nothing when it is no folder, or a link is on the way. */
async function whereIs(parts: Parts, folder: string): Promise<string[] | undefined> {
  const path = inRoot(parts, folder)
  const found: string[] = []
  for (const layer of parts.view.layers) {
    if (await isFolderIn(layer, path)) found.push(layer)
    // A link or a file up here hides what lies below.
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

/** A folder that is in one layer alone is taken as it is; one that is in several, or behind a link, is put together. */
async function collected(runner: Runner, parts: Parts, folder: string): Promise<string | undefined> {
  const path = inRoot(parts, folder)
  const [only, ...more] = (await whereIs(parts, folder)) ?? []
  if (only !== undefined && more.length === 0) return join(only, path)
  if (only === undefined && !(await isLinked(parts, path))) return undefined
  const together = await parts.place.makeFolder('output')
  const mounts = [{ from: together, to: '/output', isWritable: true }]
  const argv = ['sh', '-c', COPY_BEHIND_LINK, 'sh', WORK, join(WORK, path), '/output']
  const step = { argv, cwd: WORK, view: parts.view, mounts, deadlineMs: parts.deadlineMs }
  return (await isArranged(runner, step)) ? together : undefined
}

/** Whether what hides the folder could be a link to it. */
async function isLinked({ view }: Parts, path: string): Promise<boolean> {
  for (const layer of view.layers) if (await isHidden(layer, path)) return true
  return false
}

const inRoot = ({ plan }: Parts, folder: string): string => join(plan.rootDirectory, folder)

const noOutput = (looked: readonly string[]): Problem =>
  new Problem('NO_OUTPUT', `The build ended well, but left nothing in ${looked.join(', ')}.`, {
    metadata: { looked: looked.join(', ') },
  })
