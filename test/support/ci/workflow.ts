/**
 * Runs a workflow of GitHub Actions: `run` steps in Bash, actions of the repository from their own file, and expressions as
 * far as our pages use them. Of the actions of others, the checkout is a clone, and Node is there already.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Ended, Machine } from './machine.ts'

type Texts = Record<string, string>

type Step = { id?: string; uses?: string; run?: string; with?: Texts; env?: Texts }

export type Event = {
  name: 'push' | 'pull_request'
  /** The branch that is checked out. */
  branch: string
  payload: Record<string, unknown>
}

export type Repository = { fullName: string; remote: string; apiUrl: string; secrets: Texts; token: string }

const NOTHING_TO_DO = ['actions/setup-node@v4']

export async function runWorkflow(
  machine: Machine,
  path: string,
  event: Event,
  repository: Repository,
): Promise<Ended> {
  const workspace = join(machine.place, `work-${randomUUID()}`)
  const clone = ['git', 'clone', '--quiet', '--branch', event.branch, repository.remote, workspace].join(' ')
  const cloned = await machine.bash(clone, machine.place)
  assert.equal(cloned.code, 0, cloned.printed)
  const workflow = parse(await readFile(join(workspace, path), 'utf8'))
  const github = {
    head_ref: event.name === 'pull_request' ? event.branch : '',
    ref: `refs/heads/${event.branch}`,
    repository: repository.fullName,
    token: repository.token,
    event: event.payload,
  }
  const environment = await environmentOf(machine, workspace, event, repository)
  const all: Ended = { code: 0, printed: '' }
  for (const job of Object.values<{ if?: string; steps: Step[] }>(workflow.jobs)) {
    const contexts: Contexts = { github, secrets: repository.secrets, steps: {} }
    if (job.if !== undefined && !evaluate(job.if, contexts)) continue
    const { code, printed } = await runSteps({ machine, workspace }, job.steps, environment, contexts)
    all.printed += printed
    all.code ||= code
  }
  return all
}

type Place = { machine: Machine; workspace: string }

type Contexts = Record<string, unknown> & { steps: Record<string, { outputs: Texts }> }

async function runSteps(place: Place, steps: readonly Step[], environment: Texts, contexts: Contexts): Promise<Ended> {
  let printed = ''
  for (const step of steps) {
    const env = { ...environment, ...filled(step.env, contexts) }
    const { code, printed: text, outputs } = await runStep(place, step, env, contexts)
    printed += text
    if (code !== 0) return { code, printed }
    if (step.id !== undefined) contexts.steps[step.id] = { outputs }
  }
  return { code: 0, printed }
}

async function runStep(place: Place, step: Step, env: Texts, contexts: Contexts) {
  const { machine, workspace } = place
  if (step.run !== undefined) {
    const file = join(machine.place, `output-${randomUUID()}`)
    await writeFile(file, '')
    const ended = await machine.bash(filledText(step.run, contexts), workspace, { ...env, GITHUB_OUTPUT: file })
    return { ...ended, outputs: outputsIn(await readFile(file, 'utf8')) }
  }
  const uses = step.uses ?? assert.fail('a step runs or uses something')
  if (!uses.startsWith('./')) {
    assert.ok(uses === 'actions/checkout@v4' || NOTHING_TO_DO.includes(uses), uses)
    return { code: 0, printed: '', outputs: {} }
  }
  const action = parse(await readFile(join(workspace, uses, 'action.yml'), 'utf8'))
  const given = filled(step.with, contexts)
  for (const name of Object.keys(given)) assert.ok(Object.hasOwn(action.inputs, name), `${uses} has no input ${name}`)
  const defaults = Object.entries<{ default?: string }>(action.inputs).map(([name, input]) => [
    name,
    input.default ?? '',
  ])
  const inner: Contexts = { inputs: { ...Object.fromEntries(defaults), ...given }, steps: {} }
  const ended = await runSteps(place, action.runs.steps, env, inner)
  const values = Object.entries<{ value: string }>(action.outputs).map(([name, { value }]) => [name, value])
  return { ...ended, outputs: filled(Object.fromEntries(values), inner) }
}

async function environmentOf(
  machine: Machine,
  workspace: string,
  event: Event,
  repository: Repository,
): Promise<Texts> {
  const file = join(machine.place, `event-${randomUUID()}.json`)
  await writeFile(file, JSON.stringify(event.payload))
  const isRequest = event.name === 'pull_request'
  const head = await machine.bash('git rev-parse HEAD', workspace)
  return {
    ...{ CI: 'true', GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: workspace, GITHUB_EVENT_NAME: event.name },
    ...{ GITHUB_EVENT_PATH: file, GITHUB_REF_TYPE: 'branch', GITHUB_REF_NAME: isRequest ? '7/merge' : event.branch },
    ...{ GITHUB_HEAD_REF: isRequest ? event.branch : '', GITHUB_SHA: head.printed.trim(), GITHUB_RUN_ID: '99' },
    ...{ GITHUB_REPOSITORY: repository.fullName, GITHUB_SERVER_URL: 'https://github.example.com' },
    GITHUB_API_URL: repository.apiUrl,
  }
}

const filled = (texts: Texts = {}, contexts: Contexts): Texts =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filledText(text, contexts)]))

const filledText = (text: string, contexts: Contexts): string =>
  String(text).replaceAll(/\$\{\{(.+?)\}\}/g, (_, expression) => String(evaluate(expression, contexts) ?? ''))

/** `a.b.c`, `a || b` and `a == b`. What is not there is undefined, as in GitHub; a context that is not there is a mistake. */
function evaluate(expression: string, contexts: Contexts): unknown {
  const [left = '', right] = expression.split('==')
  if (right !== undefined) return evaluate(left, contexts) === evaluate(right, contexts)
  const [first = '', ...others] = expression.split('||')
  if (others.length > 0) return evaluate(first, contexts) || evaluate(others.join('||'), contexts)
  const [root = '', ...names] = expression.trim().split('.')
  assert.ok(Object.hasOwn(contexts, root), `there is no context ${root}`)
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], contexts[root])
}

/** Values of several lines stand between two lines with a word. */
const outputsIn = (text: string): Texts =>
  Object.fromEntries([...text.matchAll(/^(\w+)<<(\S+)\n([\s\S]*?)\n?\2$/gm)].map(([, name, , value]) => [name, value]))
