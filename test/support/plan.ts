/** Made-up apps for tests of the build plan. */
import assert from 'node:assert/strict'
import type { Plan, Source } from '../../src/builds/index.ts'
import { planBuild } from '../../src/builds/plan/plan-build.ts'
import { readProject } from '../../src/builds/plan/project/read-project.ts'
import { Problem } from '../../src/contract/index.ts'

/** The text of each file, or a value for JSON. */
export type App = Record<string, unknown>

export function sourceOf(app: App): Source {
  const read = async (path: string) => {
    const content = app[path]
    return content === undefined || typeof content === 'string' ? content : JSON.stringify(content)
  }
  return { files: Object.keys(app).sort(), read, head: async (path, bytes) => (await read(path))?.slice(0, bytes) }
}

export const planOf = async (app: App, rootDirectory = ''): Promise<Plan> =>
  planBuild(await readProject(sourceOf(app), rootDirectory))

/** The error for an app without a plan. */
export async function problemOf(app: App, rootDirectory = ''): Promise<string> {
  const error = await planOf(app, rootDirectory).then(
    (plan) => assert.fail(`planned as ${plan.framework}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Problem, String(error))
  assert.equal(error.reason, 'PLAN_FAILED')
  return error.message
}

export const startOf = ({ output }: Plan): string[] | undefined =>
  output.kind === 'server' ? output.start.argv : undefined

/** An app that depends on some packages. */
export const appWith = (dependencies: string[] | Record<string, string>, scripts: unknown, files: App = {}): App => ({
  'package.json': {
    scripts,
    dependencies: Array.isArray(dependencies)
      ? Object.fromEntries(dependencies.map((name) => [name, 'latest']))
      : dependencies,
  },
  ...files,
})

/** Files that make Yarn keep packages packed (Plug'n'Play). */
export const PLUG_AND_PLAY: App = { 'yarn.lock': '__metadata:\n  version: 8\n' }

/** Kind of output, its folder and, for files, the base path: what most tests assert. */
export function outputOf({ output }: Plan): string {
  if (output.kind === 'server') return `server in ${output.folder}: ${output.start.argv.join(' ')}`
  const { folder, basePath, singlePage } = output
  return `files in ${folder}${basePath && ` under ${basePath}`}${singlePage ? ', one page' : ''}`
}
