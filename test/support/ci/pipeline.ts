/** Runs a pipeline of GitLab: files that it includes, variables, the rules of each job, and scripts in Bash. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Ended, Machine } from './machine.ts'

type Texts = Record<string, string>

type Job = { script: string[]; rules: { if: string }[] }

type Pipeline = { include?: { local: string }[]; variables?: Texts } & Record<string, unknown>

export type Piped = Ended & {
  /** The jobs that ran. */
  jobs: string[]
  /** Where they ran. */
  workspace: string
}

/** `given` are the variables of the run and of the project. */
export async function runPipeline(machine: Machine, remote: string, branch: string, given: Texts): Promise<Piped> {
  const workspace = join(machine.place, `work-${randomUUID()}`)
  const clone = ['git', 'clone', '--quiet', '--branch', branch, remote, workspace].join(' ')
  const cloned = await machine.bash(clone, machine.place)
  assert.equal(cloned.code, 0, cloned.printed)
  const read = async (path: string): Promise<Pipeline> => parse(await readFile(join(workspace, path), 'utf8'))
  const own = await read('.gitlab-ci.yml')
  const { include = [], ...rest } = own
  const included = await Promise.all(include.map(({ local }) => read(local)))
  const pipeline: Pipeline = Object.assign({}, ...included, rest)
  const variables: Texts = Object.assign({}, ...included.map((one) => one.variables), own.variables, given)
  const ended: Piped = { code: 0, printed: '', jobs: [], workspace }
  for (const [name, job] of jobsOf(pipeline)) {
    if (ended.code !== 0 || !job.rules.some((rule) => isTrue(rule.if, variables))) continue
    const { code, printed } = await machine.bash(job.script.join('\n'), workspace, { CI: 'true', ...variables })
    ended.jobs.push(name)
    ended.printed += printed
    ended.code = code
  }
  return ended
}

/** Those of the stage "test" come before those of "deploy". */
const jobsOf = (pipeline: Pipeline): [string, Job][] =>
  Object.entries(pipeline)
    .filter((entry): entry is [string, Job & { stage: string }] => Object.hasOwn(Object(entry[1]), 'script'))
    .sort(([, a], [, b]) => b.stage.localeCompare(a.stage))

function isTrue(rule: string, variables: Texts): boolean {
  const [, left = '', text, right = ''] =
    /^\$(\w+) == (?:"([^"]*)"|\$(\w+))$/.exec(rule) ?? assert.fail(`the rule ${rule} is of another form`)
  return variables[left] !== undefined && variables[left] === (text ?? variables[right])
}
