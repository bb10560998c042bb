/** The apps of examples/, and the expected result of each. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { resources } from '../../../src/contract/index.ts'
import { statement } from '../../../src/storage/index.ts'
import { deploy, filesIn } from './deploy.ts'
import { createEnvironment, siteAnswer } from './environment.ts'
import type { Login, TestService } from './service.ts'

export const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url))

export type Expected = {
  /** What its build needs in addition; such an example has a test of its own. */
  needs?: 'wordpress'
  /** The folder of the app, in a monorepo. */
  rootDirectory?: string
  plan: object
  /** The output in the plan after the build, where only the build decides it. */
  output?: object
  answers: { path: string; status: number; contains: string; header?: Record<string, string> }[]
}

/** The examples that can be built as they are. */
export async function exampleNames(): Promise<string[]> {
  const names: string[] = []
  for (const entry of await readdir(EXAMPLES, { withFileTypes: true })) {
    if (entry.isDirectory() && !(await expectedOf(entry.name)).needs) names.push(entry.name)
  }
  return names
}

export async function expectedOf(name: string): Promise<Expected> {
  return JSON.parse(await readFile(join(EXAMPLES, name, 'expect.json'), 'utf8'))
}

/** A service that several suites use, one after another, and a login to it. */
export type Place = {
  /** Another one after a restart. */
  service: TestService
  as: Login
}

export type Deployed = {
  name: string
  environment: string
  url: string
  expected: Expected
  deployment: string
  build: string
}

/** Uploads an example, and compares its plan and its responses with the expected ones. */
export async function deployExample(service: TestService, as: Login, name: string): Promise<Deployed> {
  const expected = await expectedOf(name)
  const { rootDirectory } = expected
  const draft = {
    displayName: name,
    branch: 'uploadable',
    cmsEnvironment: 'cms',
    ...(rootDirectory && { rootDirectory }),
  }
  const { name: environment, url } = await createEnvironment(service, as, { body: draft })
  const done = await deploy(service, as, environment, await filesIn(join(EXAMPLES, name)))
  const log = await service.call(`/v1/${done.metadata.build}/log`, { as })
  assert.equal(done.error, undefined, `${JSON.stringify(done.error)}\n${log.text}`)
  const build: resources.Build = (await service.call(`/v1/${done.metadata.build}`, { as })).json
  assert.deepEqual(build.plan, { ...expected.plan, ...(expected.output && { output: expected.output }) })
  assert.equal(build.state, 'SUCCEEDED')
  await answersAsExpected(service, url, expected)
  return { name, environment, url, expected, deployment: done.metadata.deployment, build: build.name }
}

/** The folder with the packages that a build has installed; undefined where they are not kept. */
export async function packagesOf(service: TestService, { build }: Deployed): Promise<string | undefined> {
  const sql = await service.openSql()
  try {
    const id = build.split('/').at(-1) ?? ''
    const [row] = await sql.query<{ packages_id: string | null }>(
      statement`SELECT packages_id FROM builds WHERE id = ${id}`,
    )
    return row?.packages_id ? join(service.dataDir, 'packages', row.packages_id) : undefined
  } finally {
    await sql.close()
  }
}

export async function answersAsExpected(service: TestService, url: string, { answers }: Expected) {
  for (const { path, status, contains, header = {} } of answers) {
    const answer = await siteAnswer(service, url, path)
    assert.equal(answer.status, status, `${path}: ${answer.text.slice(0, 200)}`)
    assert.ok(answer.text.includes(contains), `${path} has no ${contains}: ${answer.text.slice(0, 500)}`)
    for (const [key, value] of Object.entries(header)) assert.ok(answer.headers[key]?.includes(value), `${path} ${key}`)
  }
}
